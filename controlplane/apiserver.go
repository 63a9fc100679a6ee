package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
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
		"--requestheader-username-headers=" + proxiedUser,
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
func runAPIServer(ctx context.Context, ids *identities, dir string, listener net.Listener, backend *auditBackend) error {
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
	config, err := newAPIServerConfig(completed, ids, backend)
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
	if err := chain.GenericAPIServer.AddPostStartHook(bootstrapHook, bootstrap); err != nil {
		return err
	}
	prepared, err := chain.PrepareRun()
	if err != nil {
		return err
	}
	ids.direct.serve(chain.GenericAPIServer.Handler)
	return prepared.Run(ctx)
}

// newAPIServerConfig configures the chain of API servers, as app.NewConfig does from options alone.
func newAPIServerConfig(opts options.CompletedOptions, ids *identities, backend *auditBackend) (*app.Config, error) {
	parts, err := newGenericParts(opts, ids, backend)
	if err != nil {
		return nil, fmt.Errorf("generic configuration: %w", err)
	}
	generic := parts.config
	// Parameters of admission policies. Without this the first policy with any would start the informer and the last one
	// end it for good: a policy made after that would see the parameters of then.
	parts.informers.Core().V1().ConfigMaps().Informer()
	kube, resolver, initializers, err := app.CreateKubeAPIServerConfig(opts, generic, parts.informers, parts.storage)
	if err != nil {
		return nil, fmt.Errorf("core configuration: %w", err)
	}
	transport := kube.ControlPlane.ProxyTransport
	auth := webhook.NewDefaultAuthenticationInfoResolverWrapper(
		transport, generic.EgressSelector, parts.wired, generic.TracerProvider)
	extensions, err := controlplaneapiserver.CreateAPIExtensionsConfig(
		*generic, parts.informers, initializers, opts.CompletedOptions, opts.MasterCount, resolver, auth)
	if err != nil {
		return nil, fmt.Errorf("extensions configuration: %w", err)
	}
	aggregator, err := controlplaneapiserver.CreateAggregatorConfig(
		*generic, opts.CompletedOptions, parts.informers, resolver, transport, kube.ControlPlane.Extra.PeerProxy, initializers)
	if err != nil {
		return nil, fmt.Errorf("aggregator configuration: %w", err)
	}
	return &app.Config{Options: opts, KubeAPIs: kube, ApiExtensions: extensions, Aggregator: aggregator}, nil
}
