package main

import (
	"context"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	resourceclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"
)

// addWorkloads adds what turns workloads into pods.
func (s *controllerSet) addWorkloads(ctx context.Context, _ string) error {
	core, apps, batch := s.informers.Core().V1(), s.informers.Apps().V1(), s.informers.Batch().V1()

	daemons, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(),
		s.client, flowcontrol.NewBackOff(time.Second, 15*time.Minute))
	if err != nil {
		return making("daemonset", err)
	}
	s.addWorkers(daemons.Run)

	deployments, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), core.Pods(), s.client)
	if err != nil {
		return making("deployment", err)
	}
	s.addWorkers(deployments.Run)

	s.addWorkers(replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), core.Pods(), s.client, replicaset.BurstReplicas).Run)
	s.addWorkers(replication.NewReplicationManager(ctx, core.Pods(), core.ReplicationControllers(), s.client, replication.BurstReplicas).Run)
	s.addWorkers(statefulset.NewStatefulSetController(
		ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), s.client).Run)

	jobs, err := job.NewController(ctx, s.client, core.Pods(), batch.Jobs(), nil, nil)
	if err != nil {
		return making("job", err)
	}
	s.addWorkers(jobs.Run)

	cronJobs, err := cronjob.NewControllerV2(ctx, batch.Jobs(), batch.CronJobs(), s.client)
	if err != nil {
		return making("cronjob", err)
	}
	s.addWorkers(cronJobs.Run)
	s.addWorkers(ttlafterfinished.New(ctx, batch.Jobs(), s.client).Run)

	scales, err := s.scales()
	if err != nil {
		return making("scale", err)
	}
	s.add(disruption.NewDisruptionController(ctx, core.Pods(), s.informers.Policy().V1().PodDisruptionBudgets(),
		core.ReplicationControllers(), apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(),
		s.client, s.mapper, scales, s.client.Discovery()).Run)
	return making("horizontal-pod-autoscaler", s.addAutoscaler(ctx, scales))
}

func (s *controllerSet) scales() (scale.ScalesGetter, error) {
	// The resolver does its own caching.
	resolver := scale.NewDiscoveryScaleKindResolver(s.client.Discovery())
	return scale.NewForConfig(s.ids.restConfig(userController, s.config.UserAgent), s.mapper, dynamic.LegacyAPIPathResolverFunc, resolver)
}

// addAutoscaler adds the horizontal pod autoscaler with kube-controller-manager's defaults, but that it looks thrice as
// often: whoever waits for it waits for its next look.
func (s *controllerSet) addAutoscaler(ctx context.Context, scales scale.ScalesGetter) error {
	const (
		syncPeriod     = 5 * time.Second
		stabilization  = 5 * time.Minute
		tolerance      = 0.1
		cpuWarmUp      = 5 * time.Minute
		readinessDelay = 30 * time.Second
	)
	config := s.ids.restConfig(userController, s.config.UserAgent)
	resources, err := resourceclient.NewForConfig(config)
	if err != nil {
		return err
	}
	external, err := external_metrics.NewForConfig(config)
	if err != nil {
		return err
	}
	available := custom_metrics.NewAvailableAPIsGetter(s.client.Discovery())
	source := metrics.NewRESTMetricsClient(resources, custom_metrics.NewForConfig(config, s.mapper, available), external)
	autoscaler := podautoscaler.NewHorizontalController(ctx, s.client.CoreV1(), scales, s.client.AutoscalingV2(), s.mapper, source,
		s.informers.Autoscaling().V2().HorizontalPodAutoscalers(), s.informers.Core().V1().Pods(),
		syncPeriod, stabilization, tolerance, cpuWarmUp, readinessDelay)
	s.addWorkers(autoscaler.Run)
	s.add(func(ctx context.Context) { custom_metrics.PeriodicallyInvalidate(available, syncPeriod, ctx.Done()) })
	return nil
}
