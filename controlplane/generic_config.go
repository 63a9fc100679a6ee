package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/google/uuid"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/filters"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controlplane"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
	"k8s.io/kubernetes/pkg/kubeapiserver"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"

	noopoteltrace "go.opentelemetry.io/otel/trace/noop"
)

// genericParts are what the three API servers of the chain (core, extensions, aggregator) have in common.
type genericParts struct {
	config    *genericapiserver.Config
	wired     *rest.Config // of the server's own client, by the listener
	informers informers.SharedInformerFactory
	storage   *serverstorage.DefaultStorageFactory
}

// newGenericParts does what controlplaneapiserver.BuildGenericConfig does, in the same order, except that: the server's
// certificate for its own clients is not an RSA one (which takes 0.2 s to make), audit and egress are ours, and the hooks
// that bootstrap.go replaces are off.
func newGenericParts(opts options.CompletedOptions, ids *identities, backend *auditBackend) (*genericParts, error) {
	resources := controlplane.DefaultAPIResourceConfigSource()
	config := genericapiserver.NewConfig(legacyscheme.Codecs)
	config.MergedResourceConfig = resources
	config.AuditPolicyRuleEvaluator = newAuditPolicy()
	config.AuditBackend = backend
	config.DisabledPostStartHooks.Insert(rbacrest.PostStartHookName, schedulingrest.PostStartHookName)
	if err := opts.GenericServerRunOptions.ApplyTo(config); err != nil {
		return nil, err
	}
	wired, err := serveSecurely(opts, config, ids)
	if err != nil {
		return nil, fmt.Errorf("serving: %w", err)
	}
	client, err := kubernetes.NewForConfig(config.LoopbackClientConfig)
	if err != nil {
		return nil, err
	}
	shared := informers.NewSharedInformerFactoryWithOptions(client, resyncPeriod, informers.WithTransform(withoutManagedFields))
	if err := opts.Features.ApplyTo(config, client, shared); err != nil {
		return nil, err
	}
	if err := opts.APIEnablement.ApplyTo(config, resources, legacyscheme.Scheme); err != nil {
		return nil, err
	}
	describe(config)

	opts.Etcd.StorageConfig.Transport.TracerProvider = noopoteltrace.NewTracerProvider()
	storageConfig := kubeapiserver.NewStorageFactoryConfigEffectiveVersion(config.EffectiveVersion)
	storageConfig.APIResourceConfig = config.MergedResourceConfig
	storageConfig.DefaultResourceEncoding.SetEffectiveVersion(config.EffectiveVersion)
	storage, err := storageConfig.Complete(opts.Etcd).New()
	if err != nil {
		return nil, err
	}
	storage.StorageConfig.StorageObjectCountTracker = config.StorageObjectCountTracker
	if err := opts.Etcd.ApplyWithStorageFactoryTo(storage, config); err != nil {
		return nil, err
	}

	drained := wait.ContextForChannel(config.DrainedNotify())
	if err := authorize(drained, opts, config, client, shared); err != nil {
		return nil, err
	}
	config.EgressSelector = newEgress()
	config.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	return &genericParts{config: config, wired: wired, informers: shared, storage: storage}, nil
}

// serveSecurely sets up the listener, and the clients with which the server calls itself: directly, or (what webhooks may
// ask for) by the listener, where a server name that nobody else asks for picks its certificate.
func serveSecurely(opts options.CompletedOptions, config *genericapiserver.Config, ids *identities) (*rest.Config, error) {
	if err := opts.SecureServing.SecureServingOptions.ApplyTo(&config.SecureServing); err != nil {
		return nil, err
	}
	pair, err := ids.ca.server(genericapiserver.LoopbackClientServerNameOverride, []string{genericapiserver.LoopbackClientServerNameOverride}, []net.IP{})
	if err != nil {
		return nil, err
	}
	if _, err := tls.X509KeyPair(pair.cert, pair.key); err != nil {
		return nil, err
	}
	own, err := dynamiccertificates.NewStaticSNICertKeyContent("loopback", pair.cert, pair.key, genericapiserver.LoopbackClientServerNameOverride)
	if err != nil {
		return nil, err
	}
	config.SecureServing.SNICerts = append([]dynamiccertificates.SNICertKeyContentProvider{own}, config.SecureServing.SNICerts...)
	loopback, err := config.SecureServing.NewLoopbackClientConfig(uuid.NewString(), ids.ca.certPEM)
	if err != nil {
		return nil, err
	}
	loopback.ContentType = "application/vnd.kubernetes.protobuf"
	loopback.DisableCompression = true
	direct := rest.CopyConfig(loopback)
	direct.TLSClientConfig = rest.TLSClientConfig{}
	if direct.Transport, err = ids.direct.shownBy(nil); err != nil {
		return nil, err
	}
	config.LoopbackClientConfig = direct
	return loopback, nil
}

// describe sets what the API says about itself.
func describe(config *genericapiserver.Config) {
	definitions := openapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)
	namer := openapinamer.NewDefinitionNamer([]*runtime.Scheme{legacyscheme.Scheme, apiextensionsapiserver.Scheme, aggregatorscheme.Scheme}...)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	config.OpenAPIConfig.Info.Title = "Kubernetes"
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	config.OpenAPIV3Config.Info.Title = "Kubernetes"
	config.LongRunningFunc = filters.BasicLongRunningRequestCheck(
		sets.NewString("watch", "proxy"),
		sets.NewString("attach", "exec", "proxy", "log", "portforward"),
	)
}

// authorize sets who is who and who may what.
func authorize(
	ctx context.Context, opts options.CompletedOptions, config *genericapiserver.Config,
	client kubernetes.Interface, shared informers.SharedInformerFactory,
) error {
	if err := opts.Authentication.ApplyTo(ctx, &config.Authentication, config.SecureServing, nil,
		config.OpenAPIConfig, config.OpenAPIV3Config, client, shared, config.APIServerID); err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	config.Authentication.Authenticator = &knownCertificates{next: config.Authentication.Authenticator}
	var err error
	config.Authorization.Authorizer, config.RuleResolver, _, err = controlplaneapiserver.BuildAuthorizer(
		ctx, opts.CompletedOptions, nil, config.APIServerID, shared)
	if err != nil {
		return fmt.Errorf("authorization: %w", err)
	}
	return nil
}
