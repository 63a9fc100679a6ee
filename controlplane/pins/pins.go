// Package pins knows the versions of what is inside, as go.mod pins them.
package pins

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	_ "unsafe" // for go:linkname

	"k8s.io/component-base/version"
)

// The upstream packages expect their version from linker flags. They are set here instead, so that a plain
// "go build" reports the version that go.mod pins and no second place can disagree with it.
var (
	//go:linkname componentGitVersion k8s.io/component-base/version.gitVersion
	componentGitVersion string
	//go:linkname componentGitMajor k8s.io/component-base/version.gitMajor
	componentGitMajor string
	//go:linkname componentGitMinor k8s.io/component-base/version.gitMinor
	componentGitMinor string
	//go:linkname componentGitCommit k8s.io/component-base/version.gitCommit
	componentGitCommit string
	//go:linkname componentGitTreeState k8s.io/component-base/version.gitTreeState
	componentGitTreeState string
	//go:linkname clientGitVersion k8s.io/client-go/pkg/version.gitVersion
	clientGitVersion string
	//go:linkname clientGitCommit k8s.io/client-go/pkg/version.gitCommit
	clientGitCommit string
)

// Pins are the versions of what runs inside, as JSON keys of "kube versions".
type Pins struct {
	Kubernetes string `json:"kubernetes"`
	Etcd       string `json:"etcd"`
	Kwok       string `json:"kwok"`
	Go         string `json:"go"`
}

// All returns them.
var All = sync.OnceValue(func() Pins {
	p := Pins{Kubernetes: "unknown", Etcd: "unknown", Kwok: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return p
	}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		switch dep.Path {
		case "k8s.io/kubectl":
			// Released with Kubernetes, as a library: v0.36.1 is of v1.36.1.
			p.Kubernetes = strings.Replace(dep.Version, "v0.", "v1.", 1)
		case "go.etcd.io/etcd/server/v3":
			p.Etcd = dep.Version
		case "sigs.k8s.io/kwok":
			p.Kwok = dep.Version
		}
	}
	return p
})

// Stamp makes the upstream packages report them.
func Stamp() {
	v := All().Kubernetes
	major, minor, _ := splitVersion(v)
	componentGitVersion, componentGitMajor, componentGitMinor = v, major, minor
	componentGitCommit, componentGitTreeState = "", "clean"
	clientGitVersion, clientGitCommit = v, ""
	// The version that is asked for was copied when the package was initialized. This copies it again.
	if err := version.SetDynamicVersion(v); err != nil {
		panic(err) // go.mod pins something that is no version
	}
}

// splitVersion turns "v1.36.1" into "1", "36", "1". What is not a version gives empty strings.
func splitVersion(v string) (major, minor, patch string) {
	parts := []string{"", "", ""}
	if len(v) == 0 || v[0] != 'v' {
		return "", "", ""
	}
	i := 0
	for _, r := range v[1:] {
		switch {
		case r == '.' && i < 2:
			i++
		case r < '0' || r > '9':
			return parts[0], parts[1], parts[2]
		default:
			parts[i] += string(r)
		}
	}
	return parts[0], parts[1], parts[2]
}
