package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"devops-bench/controlplane/pins"
)

// maxNodes bounds a nodes file. Each node takes a /24 of pods and one lease a few times a minute.
const maxNodes = 200

// nodeSpec is one entry of a nodes file: count alike nodes, or one with exactly this name when count is absent.
type nodeSpec struct {
	Name        string            `json:"name"`
	Count       int               `json:"count,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Taints      []corev1.Taint    `json:"taints,omitempty"`
	Zone        string            `json:"zone,omitempty"`
	// Capacity fills in what is missing from defaultCapacity; Allocatable what is missing from Capacity.
	Capacity    corev1.ResourceList `json:"capacity,omitempty"`
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
}

func defaultCapacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("8"),
		corev1.ResourceMemory:           resource.MustParse("32Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
}

var defaultNodes = []nodeSpec{{Name: "node", Count: 3}}

// readNodes returns the nodes that a file describes, or three plain ones without a file.
func readNodes(path string) ([]*corev1.Node, error) {
	specs := defaultNodes
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		specs = nil
		if err := yaml.UnmarshalStrict(data, &specs); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	nodes, err := expandNodes(specs)
	if err != nil && path != "" {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return nodes, err
}

// expandNodes turns entries into node objects in the order of the file.
func expandNodes(specs []nodeSpec) ([]*corev1.Node, error) {
	var nodes []*corev1.Node
	seen := map[string]bool{}
	for i, spec := range specs {
		names := []string{spec.Name}
		if spec.Count < 0 || spec.Count > maxNodes {
			return nil, fmt.Errorf("entry %d (%s): count must be 1 to %d", i+1, spec.Name, maxNodes)
		}
		if spec.Count > 0 {
			names = nil
			for n := range spec.Count {
				names = append(names, spec.Name+"-"+strconv.Itoa(n))
			}
		}
		for _, name := range names {
			if problems := validation.IsDNS1123Subdomain(name); len(problems) != 0 {
				return nil, fmt.Errorf("entry %d: name %q: %s", i+1, name, problems[0])
			}
			if seen[name] {
				return nil, fmt.Errorf("entry %d: two nodes are called %q", i+1, name)
			}
			seen[name] = true
			if len(nodes) == maxNodes {
				return nil, fmt.Errorf("more than %d nodes", maxNodes)
			}
			nodes = append(nodes, newNode(name, len(nodes), spec))
		}
	}
	return nodes, nil
}

// newNode is what a kubelet on a usual machine registers. index makes its addresses unique.
func newNode(name string, index int, spec nodeSpec) *corev1.Node {
	capacity := defaultCapacity()
	for resourceName, quantity := range spec.Capacity {
		capacity[resourceName] = quantity
	}
	allocatable := capacity.DeepCopy()
	for resourceName, quantity := range spec.Allocatable {
		allocatable[resourceName] = quantity
	}
	labels := map[string]string{
		corev1.LabelHostname:    name,
		corev1.LabelOSStable:    "linux",
		corev1.LabelArchStable:  "amd64",
		"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
	}
	if spec.Zone != "" {
		labels[corev1.LabelTopologyZone] = spec.Zone
		labels[corev1.LabelTopologyRegion] = regionOf(spec.Zone)
	}
	for key, value := range spec.Labels {
		labels[key] = value
	}
	podCIDR := fmt.Sprintf("10.244.%d.0/24", index)
	machine := sha256.Sum256([]byte("machine/" + name))
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: spec.Annotations},
		Spec: corev1.NodeSpec{
			PodCIDR: podCIDR, PodCIDRs: []string{podCIDR}, Taints: spec.Taints,
			ProviderID: "machine://" + name,
		},
		Status: corev1.NodeStatus{
			Phase:       corev1.NodeRunning,
			Capacity:    capacity,
			Allocatable: allocatable,
			Conditions:  healthyConditions(metav1.NewTime(time.Now())),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: nodeIP(index)},
				{Type: corev1.NodeHostName, Address: name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID:               hex.EncodeToString(machine[:16]),
				SystemUUID:              uuidOf(machine[:16]),
				BootID:                  uuidOf(machine[16:]),
				KernelVersion:           "6.12.48-cloud-amd64",
				OSImage:                 "Debian GNU/Linux 13 (trixie)",
				ContainerRuntimeVersion: "containerd://2.2.1",
				KubeletVersion:          pins.All().Kubernetes,
				OperatingSystem:         "linux",
				Architecture:            "amd64",
			},
		},
	}
}

func nodeIP(index int) string {
	return net.IPv4(172, 18, byte(index/200), byte(10+index%200)).String()
}

// regionOf drops the last part of a zone: europe-west1-b is in europe-west1.
func regionOf(zone string) string {
	for i := len(zone) - 1; i > 0; i-- {
		if zone[i] == '-' {
			return zone[:i]
		}
	}
	return zone
}

func uuidOf(bytes []byte) string {
	text := hex.EncodeToString(bytes)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:32]
}

func healthyConditions(now metav1.Time) []corev1.NodeCondition {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}
