package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	// diskDriver is the only provisioner that exists. Claims of classes with another one stay pending, as they should.
	diskDriver   = "disk.csi.k8s.io"
	defaultClass = "standard"

	annotationDefaultClass  = "storageclass.kubernetes.io/is-default-class"
	annotationProvisioner   = "volume.kubernetes.io/storage-provisioner"
	annotationSelectedNode  = "volume.kubernetes.io/selected-node"
	annotationProvisionedBy = "pv.kubernetes.io/provisioned-by"
)

// newDefaultClass is the storage class that a cluster in a cloud has: disks appear for the first pod, and can grow.
func newDefaultClass() *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta:           metav1.ObjectMeta{Name: defaultClass, Annotations: map[string]string{annotationDefaultClass: "true"}},
		Provisioner:          diskDriver,
		ReclaimPolicy:        new(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode:    new(storagev1.VolumeBindingWaitForFirstConsumer),
		AllowVolumeExpansion: new(true),
	}
}

// provisioner plays the sidecars of a CSI driver: it makes the volumes of claims, grows them and deletes them. The disks are
// nothing but their objects.
type provisioner struct {
	client  kubernetes.Interface
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	classes storagelisters.StorageClassLister
	queue   workqueue.TypedRateLimitingInterface[work]
	synced  []cache.InformerSynced
}

// work is a claim (namespace and name) or a volume (name alone) to look at.
type work struct{ namespace, name string }

func (s *controllerSet) newProvisioner() (*provisioner, error) {
	claims, volumes := s.informers.Core().V1().PersistentVolumeClaims(), s.informers.Core().V1().PersistentVolumes()
	classes := s.informers.Storage().V1().StorageClasses()
	p := &provisioner{
		client: s.client, claims: claims.Lister(), volumes: volumes.Lister(), classes: classes.Lister(),
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[work]()),
		synced: []cache.InformerSynced{claims.Informer().HasSynced, volumes.Informer().HasSynced, classes.Informer().HasSynced},
	}
	enqueue := func(object any) {
		if meta, ok := object.(metav1.Object); ok {
			p.queue.Add(work{meta.GetNamespace(), meta.GetName()})
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, object any) { enqueue(object) }}
	for _, informer := range []cache.SharedIndexInformer{claims.Informer(), volumes.Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *provisioner) run(ctx context.Context) {
	defer p.queue.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), p.synced...) {
		return
	}
	for {
		item, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		if err := p.handle(ctx, item); err != nil && !apierrors.IsNotFound(err) {
			klog.ErrorS(err, "provisioning", "namespace", item.namespace, "name", item.name)
			p.queue.AddRateLimited(item)
		} else {
			p.queue.Forget(item)
		}
		p.queue.Done(item)
	}
}

func (p *provisioner) handle(ctx context.Context, item work) error {
	if item.namespace == "" {
		volume, err := p.volumes.Get(item.name)
		if err != nil {
			return err
		}
		return p.reclaim(ctx, volume)
	}
	claim, err := p.claims.PersistentVolumeClaims(item.namespace).Get(item.name)
	if err != nil {
		return err
	}
	if claim.Spec.VolumeName == "" {
		return p.provision(ctx, claim)
	}
	return p.grow(ctx, claim)
}

// provision makes the volume that a claim waits for. The binder says when: it names the provisioner on the claim.
func (p *provisioner) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if claim.Annotations[annotationProvisioner] != diskDriver || claim.Spec.StorageClassName == nil || claim.DeletionTimestamp != nil {
		return nil
	}
	class, err := p.classes.Get(*claim.Spec.StorageClassName)
	if err != nil {
		return err
	}
	waits := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	if waits && claim.Annotations[annotationSelectedNode] == "" {
		return nil
	}
	_, err = p.client.CoreV1().PersistentVolumes().Create(ctx, newVolume(claim, class), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func newVolume(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) *corev1.PersistentVolume {
	name := "pvc-" + string(claim.UID)
	policy := corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotationProvisionedBy: diskDriver}},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:                   claim.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: policy,
			StorageClassName:              class.Name,
			MountOptions:                  class.MountOptions,
			VolumeMode:                    claim.Spec.VolumeMode,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: diskDriver, VolumeHandle: "disk-" + string(claim.UID), FSType: "ext4"},
			},
		},
	}
}

// grow gives a bound claim the size that it asks for, on a volume of ours. Admission has checked that its class allows it.
func (p *provisioner) grow(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	wanted, have := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	if claim.Status.Phase != corev1.ClaimBound || wanted.Cmp(have) <= 0 {
		return nil
	}
	volume, err := p.volumes.Get(claim.Spec.VolumeName)
	if err != nil {
		return err
	}
	if volume.Spec.CSI == nil || volume.Spec.CSI.Driver != diskDriver {
		return nil
	}
	if size := volume.Spec.Capacity[corev1.ResourceStorage]; size.Cmp(wanted) < 0 {
		volume = volume.DeepCopy()
		volume.Spec.Capacity[corev1.ResourceStorage] = wanted
		if _, err := p.client.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("growing %s: %w", volume.Name, err)
		}
	}
	claim = claim.DeepCopy()
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: wanted}
	_, err = p.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	return err
}

// reclaim deletes a volume of ours whose claim is gone.
func (p *provisioner) reclaim(ctx context.Context, volume *corev1.PersistentVolume) error {
	if volume.Spec.CSI == nil || volume.Spec.CSI.Driver != diskDriver || volume.DeletionTimestamp != nil ||
		volume.Status.Phase != corev1.VolumeReleased || volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return nil
	}
	return p.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
}
