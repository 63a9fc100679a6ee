package pins

import "testing"

func TestSplitVersion(t *testing.T) {
	for version, want := range map[string][3]string{
		"v1.36.1": {"1", "36", "1"}, "v2.0.0-rc.1": {"2", "0", "0"}, "unknown": {},
	} {
		major, minor, patch := splitVersion(version)
		if got := [3]string{major, minor, patch}; got != want {
			t.Errorf("%s: got %v", version, got)
		}
	}
}
