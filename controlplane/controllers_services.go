package main

import (
	"context"
	"time"

	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
)

// addServices adds what finds the pods behind services.
func (s *controllerSet) addServices(ctx context.Context, _ string) error {
	const (
		endpointsPerSlice               = 100
		mirroredPerSubset               = 1000
		noBatching        time.Duration = 0
	)
	core, slices := s.informers.Core().V1(), s.informers.Discovery().V1().EndpointSlices()
	s.addWorkers(endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), s.client, noBatching).Run)
	s.addWorkers(endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), slices, endpointsPerSlice, s.client, noBatching).Run)
	s.addWorkers(endpointslicemirroring.NewController(ctx, core.Endpoints(), slices, core.Services(), mirroredPerSubset, s.client, noBatching).Run)
	return nil
}

// addNodes adds what judges nodes by their heartbeats and moves pods away from bad ones, with kube-controller-manager's
// defaults.
func (s *controllerSet) addNodes(ctx context.Context, _ string) error {
	const (
		monitorPeriod         = 5 * time.Second
		startupGrace          = 60 * time.Second
		monitorGrace          = 50 * time.Second
		evictionRate          = 0.1
		secondaryEvictionRate = 0.01
		largeCluster          = 50
		unhealthyZone         = 0.55
	)
	core := s.informers.Core().V1()
	lifecycle, err := nodelifecycle.NewNodeLifecycleController(ctx, s.informers.Coordination().V1().Leases(), core.Pods(), core.Nodes(),
		s.informers.Apps().V1().DaemonSets(), s.client, monitorPeriod, startupGrace, monitorGrace,
		evictionRate, secondaryEvictionRate, largeCluster, unhealthyZone)
	if err != nil {
		return making("node-lifecycle", err)
	}
	s.add(lifecycle.Run)
	eviction, err := tainteviction.New(ctx, s.client, core.Pods(), core.Nodes(), "taint-eviction-controller")
	if err != nil {
		return making("taint-eviction", err)
	}
	s.add(eviction.Run)
	return nil
}
