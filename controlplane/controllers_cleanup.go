package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

// addCleanup adds what deletes dependents, the content of namespaces and pods without a node.
func (s *controllerSet) addCleanup(ctx context.Context, _ string) error {
	core := s.informers.Core().V1()
	graph := garbagecollector.NewDependencyGraphBuilder(
		ctx, s.metadata, s.mapper, garbagecollector.DefaultIgnoredResources(), s.allKinds, s.started)
	collector, err := garbagecollector.NewComposedGarbageCollector(ctx, s.client, s.metadata, s.mapper, graph)
	if err != nil {
		return making("garbage-collector", err)
	}
	s.add(func(ctx context.Context) { collector.Run(ctx, workers, discoveryPeriod) })
	s.add(func(ctx context.Context) { collector.Sync(ctx, s.client.Discovery(), discoveryPeriod) })

	s.addWorkers(namespace.NewNamespaceController(ctx, s.client, s.metadata, s.client.Discovery().ServerPreferredNamespacedResources,
		core.Namespaces(), resyncPeriod, corev1.FinalizerKubernetes).Run)
	s.add(s.newPodGC().run)
	return nil
}
