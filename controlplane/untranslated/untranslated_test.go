package untranslated

import "testing"

func TestEnglishIsWhatKubectlWouldSpeak(t *testing.T) {
	for _, one := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{}, true},
		{map[string]string{"LANG": "C"}, true},
		{map[string]string{"LANG": "C.UTF-8"}, true},
		{map[string]string{"LANG": "en_US.UTF-8"}, true},
		{map[string]string{"LANG": "de_DE.UTF-8"}, false},
		{map[string]string{"LANG": "de_DE.UTF-8", "LC_ALL": "POSIX"}, true},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_MESSAGES": "ja_JP.UTF-8"}, false},
	} {
		if got := english(func(name string) string { return one.env[name] }); got != one.want {
			t.Errorf("%v: %v", one.env, got)
		}
	}
}
