package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"github.com/spf13/pflag"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/util/webhook"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controlplane"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
)

const (
	serviceCIDR   = "10.96.0.0/16"
	serviceIssuer = "https://kubernetes.default.svc.cluster.local"
)

// firstServiceIP is the address of the "kubernetes" service.
var firstServiceIP = net.IPv4(10, 96, 0, 1)

// apiServerFlags are the flags of a kube-apiserver with files in dir. See the reasons beside them.
func apiServerFlags(dir string) []string {
	in := func(path string) string { return filepath.Join(dir, path) }
	return []string{
		"--etcd-servers=" + etcdEndpoint,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		// A loopback address is not allowed in the endpoints of the "kubernetes" service, and the error would be seen.
		"--endpoint-reconciler-type=none",
		"--cert-dir=" + in(pkiDir),
		"--tls-cert-file=" + in(servingCertFile),
		"--tls-private-key-file=" + in(servingKeyFile),
		"--client-ca-file=" + in(caCertFile),
		"--anonymous-auth=false",
		"--requestheader-client-ca-file=" + in(proxyCACertFile),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + in(proxyCertFile),
		"--proxy-client-key-file=" + in(proxyKeyFile),
		"--service-account-issuer=" + serviceIssuer,
		"--service-account-key-file=" + in(tokenPubFile),
		"--service-account-signing-key-file=" + in(tokenKeyFile),
		"--service-cluster-ip-range=" + serviceCIDR,
		// No kubelet has an identity of its own, so the node authorizer would only watch.
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--profiling=false",
		"--event-ttl=6h",
	}
}

// runAPIServer serves on listener until ctx ends. It returns only with an error or after ctx.
func runAPIServer(ctx context.Context, dir string, listener net.Listener, backend *auditBackend) error {
	opts := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	named := opts.Flags()
	for _, set := range named.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(apiServerFlags(dir)); err != nil {
		return err
	}
	opts.SecureServing.Listener = listener
	opts.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	if err := opts.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	completed, err := opts.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return utilerrors.NewAggregate(errs)
	}
	config, err := newAPIServerConfig(completed, backend)
	if err != nil {
		return err
	}
	complete, err := config.Complete()
	if err != nil {
		return err
	}
	chain, err := app.CreateServerChain(complete)
	if err != nil {
		return err
	}
	prepared, err := chain.PrepareRun()
	if err != nil {
		return err
	}
	return prepared.Run(ctx)
}

// newAPIServerConfig is app.NewConfig with our audit backend and egress in place of those that options can name.
func newAPIServerConfig(opts options.CompletedOptions, backend *auditBackend) (*app.Config, error) {
	generic, informers, storage, err := controlplaneapiserver.BuildGenericConfig(
		opts.CompletedOptions,
		[]*runtime.Scheme{legacyscheme.Scheme, apiextensionsapiserver.Scheme, aggregatorscheme.Scheme},
		controlplane.DefaultAPIResourceConfigSource(),
		generatedopenapi.GetOpenAPIDefinitions,
	)
	if err != nil {
		return nil, fmt.Errorf("generic configuration: %w", err)
	}
	generic.AuditPolicyRuleEvaluator = newAuditPolicy()
	generic.AuditBackend = backend
	generic.EgressSelector = newEgress()

	kube, resolver, initializers, err := app.CreateKubeAPIServerConfig(opts, generic, informers, storage)
	if err != nil {
		return nil, fmt.Errorf("core configuration: %w", err)
	}
	auth := webhook.NewDefaultAuthenticationInfoResolverWrapper(
		kube.ControlPlane.ProxyTransport, generic.EgressSelector, generic.LoopbackClientConfig, generic.TracerProvider)
	extensions, err := controlplaneapiserver.CreateAPIExtensionsConfig(
		*generic, informers, initializers, opts.CompletedOptions, opts.MasterCount, resolver, auth)
	if err != nil {
		return nil, fmt.Errorf("extensions configuration: %w", err)
	}
	aggregator, err := controlplaneapiserver.CreateAggregatorConfig(
		*generic, opts.CompletedOptions, informers, resolver, kube.ControlPlane.ProxyTransport, kube.ControlPlane.Extra.PeerProxy, initializers)
	if err != nil {
		return nil, fmt.Errorf("aggregator configuration: %w", err)
	}
	return &app.Config{Options: opts, KubeAPIs: kube, ApiExtensions: extensions, Aggregator: aggregator}, nil
}
