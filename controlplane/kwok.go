package main

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"

	"devops-bench/controlplane/pins"
)

// kubeletAgent names what plays the kubelets in the API: it shows up as manager of fields and in nothing else.
const kubeletAgent = "kubelet"

// startKubelets starts kwok, which moves nodes and pods through stages, with the stages and our own defaults. Its server
// (logs, exec) stays off.
func startKubelets(ctx context.Context, ids *identities, stages stageMap, log io.Writer) error {
	config := ids.restConfig(userKubelet, kubeletAgent)
	typed, err := kubernetes.NewForConfig(ids.protobufConfig(userKubelet, kubeletAgent))
	if err != nil {
		return err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	raw := rest.CopyConfig(config)
	raw.GroupVersion = &schema.GroupVersion{}
	raw.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	restClient, err := rest.RESTClientFor(raw)
	if err != nil {
		return err
	}
	controller, err := controllers.NewController(controllers.Config{
		Clock:                     clock.RealClock{},
		DynamicClient:             dynamicClient,
		RESTClient:                restClient,
		RESTMapper:                restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(typed.Discovery())),
		TypedClient:               kubeletEvents{typed},
		ManageAllNodes:            true,
		CIDR:                      "10.245.0.0/16",
		NodePort:                  10250,
		PodPlayStageParallelism:   4,
		NodePlayStageParallelism:  4,
		PodsOnNodeSyncParallelism: 4,
		LocalStages:               stages,
		FuncMap:                   gotpl.FuncMap{"KubeletVersion": func() string { return pins.All().Kubernetes }},
	})
	if err != nil {
		return err
	}
	return controller.Start(kwoklog.NewContext(ctx, kwoklog.NewLogger(log, kwoklog.LevelWarn)))
}
