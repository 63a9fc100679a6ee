// Package untranslated spares those who read English the catalogue of translations. kubectl packs one into an archive and
// parses it again at every start, which takes half of it, to find the texts that it has already.
package untranslated

import (
	"cmp"
	"os"
	"strings"

	"k8s.io/kubectl/pkg/util/i18n"
)

// This package is initialized before those of kubectl that have texts, since of packages that are ready the first by
// import path is next. Afterwards setting the function is an error.
func init() {
	if !english(os.Getenv) {
		return
	}
	if err := i18n.SetLoadTranslationsFunc(func() error { return nil }); err != nil {
		panic(err)
	}
}

// english tells whether the language that kubectl picks by the environment is English.
func english(env func(string) string) bool {
	language := cmp.Or(env("LC_ALL"), env("LC_MESSAGES"), env("LANG"))
	language, _, _ = strings.Cut(language, ".")
	return language == "" || language == "C" || language == "POSIX" || strings.HasPrefix(language, "en")
}
