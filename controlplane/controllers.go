package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// Controllers that need a cloud, a kubelet or a real disk, or that only serve features which are off.
var unneededControllers = []string{
	names.NodeIpamController, names.PersistentVolumeAttachDetachController, names.SELinuxWarningController,
	names.LegacyServiceAccountTokenCleanerController, names.StorageVersionGarbageCollectorController,
	names.TTLController, names.ServiceCIDRController,
}

func runControllers(ctx context.Context, dir string, kubeconfig string) error {
	opts, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	in := func(path string) string { return filepath.Join(dir, path) }
	flags := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	named := opts.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	for _, set := range named.FlagSets {
		flags.AddFlagSet(set)
	}
	opts.ParsedFlags = &named
	if err := flags.Parse([]string{
		"--kubeconfig=" + kubeconfig,
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--leader-elect=false",
		"--secure-port=0",
		"--use-service-account-credentials=false",
		"--service-account-private-key-file=" + in(tokenKeyFile),
		"--root-ca-file=" + in(caCertFile),
		"--cluster-signing-cert-file=" + in(caCertFile),
		"--cluster-signing-key-file=" + in(caKeyFile),
		"--controllers=*,-" + strings.Join(unneededControllers, ",-"),
	}); err != nil {
		return err
	}
	config, err := opts.Config(ctx, app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	if err != nil {
		return err
	}
	return app.Run(ctx, config.Complete())
}
