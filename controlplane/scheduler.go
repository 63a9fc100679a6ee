package main

import (
	"context"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// runScheduler runs the default scheduler, with the configuration that kube-scheduler has without flags, until ctx ends, and
// calls synced once it knows all there is.
func runScheduler(ctx context.Context, ids *identities, synced func()) error {
	config := ids.protobufConfig(userScheduler, "kube-scheduler")
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	dynamicClient, err := dynamic.NewForConfig(ids.restConfig(userScheduler, "kube-scheduler"))
	if err != nil {
		return err
	}
	defaults, err := latest.Default()
	if err != nil {
		return err
	}
	informers := scheduler.NewInformerFactory(client, 0)
	dynamicInformers := dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0)
	broadcaster := events.NewEventBroadcasterAdapter(client)
	recorders := func(name string) events.EventRecorderLogger { return broadcaster.NewRecorder(name) }
	sched, err := scheduler.New(ctx, client, informers, dynamicInformers, profile.RecorderFactory(recorders),
		scheduler.WithComponentConfigVersion(defaults.APIVersion),
		scheduler.WithKubeConfig(config),
		scheduler.WithProfiles(defaults.Profiles...),
		scheduler.WithPercentageOfNodesToScore(defaults.PercentageOfNodesToScore),
		scheduler.WithPodMaxBackoffSeconds(defaults.PodMaxBackoffSeconds),
		scheduler.WithPodInitialBackoffSeconds(defaults.PodInitialBackoffSeconds),
		scheduler.WithParallelism(2),
	)
	if err != nil {
		return err
	}
	broadcaster.StartRecordingToSink(ctx.Done())
	informers.Start(ctx.Done())
	dynamicInformers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	dynamicInformers.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		return err
	}
	synced()
	sched.Run(ctx)
	return nil
}
