package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller"
)

const (
	workers      = 5 // of each controller, as kube-controller-manager has by default
	resyncPeriod = 12 * time.Hour
	// discoveryPeriod is how often controllers of all kinds look for new kinds.
	discoveryPeriod = 30 * time.Second
)

// controllerSet is what the controllers of a cluster share, and what each of them does once all are made.
//
// This is a composition of our own and not kube-controller-manager's, because that one pulls in volume drivers and cloud
// code that double the time to build it, waits a second where it need not, and deletes directories of this host when a
// host-path volume is released.
type controllerSet struct {
	ids       *identities
	config    *rest.Config
	client    kubernetes.Interface
	metadata  metadata.Interface
	informers informers.SharedInformerFactory
	allKinds  informerfactory.InformerFactory
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	started   chan struct{} // closed when the informers run
	loops     []func(context.Context)
}

// runControllers runs the controllers until ctx ends, and calls synced once they have read all there is.
func runControllers(ctx context.Context, ids *identities, dir string, synced func()) error {
	set, err := newControllerSet(ids)
	if err != nil {
		return err
	}
	for _, add := range []func(context.Context, string) error{
		set.addIdentity, set.addWorkloads, set.addServices, set.addCleanup, set.addPolicy, set.addNodes, set.addStorage,
	} {
		if err := add(ctx, dir); err != nil {
			return err
		}
	}
	set.informers.Start(ctx.Done())
	set.allKinds.Start(ctx.Done())
	close(set.started)
	for _, loop := range set.loops {
		go loop(ctx)
	}
	go refresh(ctx, set.mapper)
	set.informers.WaitForCacheSync(ctx.Done())
	synced()
	<-ctx.Done()
	return nil
}

func newControllerSet(ids *identities) (*controllerSet, error) {
	config := ids.protobufConfig(userController, "kube-controller-manager")
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	shared := informers.NewSharedInformerFactoryWithOptions(client, resyncPeriod, informers.WithTransform(withoutManagedFields))
	byMetadata := metadatainformer.NewSharedInformerFactoryWithOptions(metadataClient, resyncPeriod, metadatainformer.WithTransform(withoutManagedFields))
	return &controllerSet{
		ids:       ids,
		config:    config,
		client:    client,
		metadata:  metadataClient,
		informers: shared,
		allKinds:  informerfactory.NewInformerFactory(shared, byMetadata),
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
		started:   make(chan struct{}),
	}, nil
}

// add registers what a controller does until ctx ends.
func (s *controllerSet) add(loop func(context.Context)) { s.loops = append(s.loops, loop) }

// addWorkers is add for a controller that is told how many workers to run.
func (s *controllerSet) addWorkers(loop func(context.Context, int)) {
	s.add(func(ctx context.Context) { loop(ctx, workers) })
}

func (s *controllerSet) resync() controller.ResyncPeriodFunc {
	return func() time.Duration { return resyncPeriod }
}

// withoutManagedFields saves the memory of what no controller reads.
func withoutManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil && accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

func refresh(ctx context.Context, mapper *restmapper.DeferredDiscoveryRESTMapper) {
	ticker := time.NewTicker(discoveryPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			mapper.Reset()
		}
	}
}

// making says which controller an error is about.
func making(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s controller: %w", name, err)
}
