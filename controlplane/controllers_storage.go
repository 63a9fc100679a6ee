package main

import (
	"context"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
)

// addStorage adds what makes, binds, expands and protects volumes. There are no volume drivers: a driver would act on this
// host, and a released host-path volume would be deleted from its disk.
func (s *controllerSet) addStorage(ctx context.Context, _ string) error {
	const bindPeriod = 5 * time.Second // a third of the default: whoever waits for a claim waits for the next look at it
	core := s.informers.Core().V1()
	binder, err := persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
		KubeClient:                s.client,
		SyncPeriod:                bindPeriod,
		VolumeInformer:            core.PersistentVolumes(),
		ClaimInformer:             core.PersistentVolumeClaims(),
		ClassInformer:             s.informers.Storage().V1().StorageClasses(),
		PodInformer:               core.Pods(),
		NodeInformer:              core.Nodes(),
		EnableDynamicProvisioning: true,
	})
	if err != nil {
		return making("persistentvolume-binder", err)
	}
	s.add(binder.Run)

	claims, err := pvcprotection.NewPVCProtectionController(klog.FromContext(ctx), core.PersistentVolumeClaims(), core.Pods(), s.client)
	if err != nil {
		return making("persistentvolumeclaim-protection", err)
	}
	s.add(func(ctx context.Context) { claims.Run(ctx, 1) })
	volumes := pvprotection.NewPVProtectionController(klog.FromContext(ctx), core.PersistentVolumes(), s.client)
	s.add(func(ctx context.Context) { volumes.Run(ctx, 1) })

	ephemerals, err := ephemeral.NewController(ctx, s.client, core.Pods(), core.PersistentVolumeClaims())
	if err != nil {
		return making("ephemeral-volume", err)
	}
	s.addWorkers(ephemerals.Run)

	disks, err := s.newProvisioner()
	if err != nil {
		return making("provisioner", err)
	}
	s.add(disks.run)
	return nil
}
