package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	podGCPeriod = 20 * time.Second
	// goneSweeps is how many sweeps must miss a node before its pods count as lost: 40 s, as in Kubernetes.
	goneSweeps = 2
)

// podGC deletes the pods that no kubelet will ever delete. Kubernetes' own pod garbage collector does that and a little
// more, but imports the kubelet (150 packages) for the name of one reason.
type podGC struct {
	client  kubernetes.Interface
	pods    corelisters.PodLister
	nodes   corelisters.NodeLister
	synced  []cache.InformerSynced
	missing map[string]int // node -> sweeps in which it was gone
}

func (s *controllerSet) newPodGC() *podGC {
	pods, nodes := s.informers.Core().V1().Pods(), s.informers.Core().V1().Nodes()
	return &podGC{
		client: s.client, pods: pods.Lister(), nodes: nodes.Lister(),
		synced:  []cache.InformerSynced{pods.Informer().HasSynced, nodes.Informer().HasSynced},
		missing: map[string]int{},
	}
}

func (g *podGC) run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), g.synced...) {
		return
	}
	ticker := time.NewTicker(podGCPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := g.sweep(ctx); err != nil {
				klog.ErrorS(err, "collecting pods")
			}
		}
	}
}

func (g *podGC) sweep(ctx context.Context) error {
	pods, err := g.pods.List(labels.Everything())
	if err != nil {
		return err
	}
	nodes, err := g.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, pod := range g.lost(pods, nodes) {
		if err := g.remove(ctx, pod); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// lost returns the pods on nodes that are gone for good, and those that were to be deleted before they got a node.
func (g *podGC) lost(pods []*corev1.Pod, nodes []*corev1.Node) []*corev1.Pod {
	present := sets.New[string]()
	for _, node := range nodes {
		present.Insert(node.Name)
	}
	gone := map[string]int{}
	var lost []*corev1.Pod
	for _, pod := range pods {
		node := pod.Spec.NodeName
		switch {
		case node == "" && pod.DeletionTimestamp != nil:
			lost = append(lost, pod)
		case node != "" && !present.Has(node):
			gone[node] = g.missing[node] + 1
			if gone[node] >= goneSweeps {
				lost = append(lost, pod)
			}
		}
	}
	g.missing = gone
	return lost
}

// remove says in the pod's status why, so that a job does not count it as a success, and deletes it at once.
func (g *podGC) remove(ctx context.Context, pod *corev1.Pod) error {
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		failed := pod.DeepCopy()
		failed.Status.Phase = corev1.PodFailed
		failed.Status.Conditions = append(failed.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC",
			Message: "PodGC: node no longer exists", LastTransitionTime: metav1.Now(),
		})
		if _, err := g.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, failed, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
	return g.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, now)
}
