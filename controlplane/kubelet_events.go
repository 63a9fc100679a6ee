package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// kubeletEvents is a client whose events come from "kubelet". kwok would sign them with a name of its own, and there is
// no setting for it.
type kubeletEvents struct{ kubernetes.Interface }

func (k kubeletEvents) CoreV1() typedcorev1.CoreV1Interface {
	return kubeletCore{k.Interface.CoreV1()}
}

type kubeletCore struct{ typedcorev1.CoreV1Interface }

func (k kubeletCore) Events(namespace string) typedcorev1.EventInterface {
	return kubeletEventWriter{k.CoreV1Interface.Events(namespace)}
}

type kubeletEventWriter struct{ typedcorev1.EventInterface }

func (k kubeletEventWriter) CreateWithEventNamespaceWithContext(ctx context.Context, event *corev1.Event) (*corev1.Event, error) {
	return k.EventInterface.CreateWithEventNamespaceWithContext(ctx, signed(event))
}

func (k kubeletEventWriter) UpdateWithEventNamespaceWithContext(ctx context.Context, event *corev1.Event) (*corev1.Event, error) {
	return k.EventInterface.UpdateWithEventNamespaceWithContext(ctx, signed(event))
}

func (k kubeletEventWriter) CreateWithEventNamespace(event *corev1.Event) (*corev1.Event, error) {
	return k.CreateWithEventNamespaceWithContext(context.Background(), event)
}

func (k kubeletEventWriter) UpdateWithEventNamespace(event *corev1.Event) (*corev1.Event, error) {
	return k.UpdateWithEventNamespaceWithContext(context.Background(), event)
}

func signed(event *corev1.Event) *corev1.Event {
	event = event.DeepCopy()
	event.Source.Component = "kubelet"
	event.ReportingController = "kubelet"
	return event
}
