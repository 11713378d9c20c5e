package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"opdeck/api/secret"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/verdict"
)

// Notify is who is told what is wrong.
type Notify struct {
	Command    []string `toml:"command"`
	URL        string   `toml:"url"`
	SecretEnv  string   `toml:"secret_env"`
	SecretFile string   `toml:"secret_file"`
	Min        string   `toml:"min"` // warning, critical
}

// On reports whether anyone is told.
func (n Notify) On() bool { return len(n.Command) > 0 || n.URL != "" }

// Least is the mildest cause that is told. The file is valid.
func (n Notify) Least() verdict.Severity {
	if n.Min == verdict.Critical.String() {
		return verdict.Critical
	}
	return verdict.Warning
}

// To is the program, or scheme and host of the address: the rest may hold a secret.
func (n Notify) To() string {
	if len(n.Command) > 0 {
		return n.Command[0]
	}
	if u, err := url.Parse(n.URL); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return ""
}

// Secret reads the secret that signs the notices for a URL.
func (n Notify) Secret(env func(string) string) (secret.Value, error) {
	if n.SecretFile != "" {
		return SecretFile(n.SecretFile)
	}
	if v := env(n.SecretEnv); v != "" {
		return secret.New(v), nil
	}
	return secret.Value{}, fmt.Errorf("the environment variable %s (secret_env) is empty or not set", n.SecretEnv)
}

func (n Notify) check(k *checker) {
	k.oneOf(n.Min, []string{verdict.Warning.String(), verdict.Critical.String()}, "notify", "min")
	if len(n.Command) > 0 {
		if n.URL != "" {
			k.add("command and url exclude each other", "notify", "url")
		}
		if p := n.Command[0]; p == "" || strings.ContainsRune(p, filepath.Separator) && !filepath.IsAbs(p) {
			k.add("the program must be an absolute path, or a name that PATH finds", "notify", "command")
		}
		if n.SecretEnv != "" || n.SecretFile != "" {
			k.add("a secret belongs to url; a command gets none", "notify")
		}
	} else if n.URL != "" {
		if err := checkNotifyURL(n.URL); err != nil {
			k.add(err.Error(), "notify", "url")
		}
		if (n.SecretEnv == "") == (n.SecretFile == "") {
			k.add("exactly one of secret_env and secret_file is needed with url", "notify", "url")
		}
	}
}

// checkNotifyURL is CheckBaseURL for the receiver of notices, whose path and query are its own.
func checkNotifyURL(s string) error {
	bare, _, _ := strings.Cut(s, "?")
	if err := CheckBaseURL(strings.ReplaceAll(bare, "/v2", "/")); err != nil {
		return err
	}
	if strings.Contains(s, "#") {
		return fmt.Errorf("must not contain a fragment")
	}
	return nil
}

// meant suggests the name that is probably meant.
func meant(s string, names []string) string {
	if near := filter.Nearest(s, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
