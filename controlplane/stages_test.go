package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

var podKind = internalversion.StageResourceRef{APIGroup: "v1", Kind: "Pod"}

// failing is a stage that keeps pods with image "bad" pending.
const failing = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: failing}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: '.spec.containers[].image', operator: In, values: [bad]}
    - {key: '.status.reason', operator: NotIn, values: [Failing]}
  next: {statusTemplate: "reason: Failing"}
`

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stages.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func podWith(image string, change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	if change != nil {
		change(pod)
	}
	return pod
}

// next returns the name of the stage that kwok would play for the pod, the same in many draws.
func next(t *testing.T, stages stageMap, pod *corev1.Pod) string {
	t.Helper()
	life, err := lifecycle.NewLifecycle(stages[podKind])
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for draw := range 200 {
		stage, err := life.Match(context.Background(), &lifecycle.Event{Labels: pod.Labels, Data: pod})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if stage != nil {
			got = stage.Name()
		}
		if draw > 0 && got != name {
			t.Fatalf("draws %q and then %q", name, got)
		}
		name = got
	}
	return name
}

func TestWhichStageMovesAPod(t *testing.T) {
	stages, err := loadStages([]string{write(t, failing)})
	if err != nil {
		t.Fatal(err)
	}
	deleted := metav1.Now()
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"another image is for the built-in stage":  {podWith("good", nil), "pod-ready"},
		"the image picks the task's stage":         {podWith("bad", nil), "failing"},
		"what it did holds the pod":                {podWith("bad", func(p *corev1.Pod) { p.Status.Reason = "Failing" }), "failing-hold"},
		"a fixed image lets it go":                 {podWith("good", func(p *corev1.Pod) { p.Status.Reason = "Failing" }), "pod-ready"},
		"deletion works while it fails":            {podWith("bad", func(p *corev1.Pod) { p.DeletionTimestamp = &deleted }), "pod-delete"},
		"a running pod that is ready stays":        {podWith("good", func(p *corev1.Pod) { p.Status = running(true) }), ""},
		"a running pod that is not ready recovers": {podWith("good", func(p *corev1.Pod) { p.Status = running(false) }), "pod-ready"},
		"a finished pod is left alone":             {podWith("good", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := next(t, stages, test.pod); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func running(ready bool) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", Ready: ready}}}
}

func TestASelectorComparesNumbers(t *testing.T) {
	stages, err := loadStages([]string{write(t, strings.NewReplacer(
		".spec.containers[].image", ".spec.containers[].ports[]?.containerPort", "[bad]", `["9999"]`).Replace(failing))})
	if err != nil {
		t.Fatal(err)
	}
	pod := podWith("x", func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9999}} })
	if got := next(t, stages, pod); got != "failing" {
		t.Errorf("got %q", got)
	}
}

func TestAStageOfTheSameNameReplacesTheBuiltInOne(t *testing.T) {
	stages, err := loadStages([]string{write(t, strings.ReplaceAll(failing, "name: failing", "name: pod-ready"))})
	if err != nil {
		t.Fatal(err)
	}
	if got := next(t, stages, podWith("good", nil)); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestHoldCanBeDeclinedAndNeedsMoreThanStatus(t *testing.T) {
	for name, text := range map[string]string{
		"declined":    strings.ReplaceAll(failing, "{name: failing}", `{name: failing, annotations: {devops-bench/hold: "false"}}`),
		"status only": strings.ReplaceAll(failing, ".spec.containers[].image", ".status.message"),
	} {
		t.Run(name, func(t *testing.T) {
			stages, err := loadStages([]string{write(t, text)})
			if err != nil {
				t.Fatal(err)
			}
			for _, stage := range stages[podKind] {
				if strings.HasSuffix(stage.Name, "-hold") {
					t.Errorf("has %s", stage.Name)
				}
			}
		})
	}
}
