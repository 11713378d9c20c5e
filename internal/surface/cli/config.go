package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/internal/app/config"
	"opdeck/internal/store/seal"
	"opdeck/internal/surface/sshserver"
	"opdeck/internal/system/listen"
	"opdeck/ui/keymap"
)

// found is where the config and the state are.
func (r *root) found() config.Found {
	return config.Find(r.config, r.state, r.env.Getenv, r.env.System)
}

// loadConfig reads the config file.
func (r *root) loadConfig() (config.Config, error) { return r.found().Load() }

// pathJSON holds the paths of the config file and the state folder.
type pathJSON struct {
	Config string `json:"config"`
	Exists bool   `json:"exists"` // the file
	State  string `json:"state"`
}

func configPathCommand(r *root) *cobra.Command {
	return alone(r, &cobra.Command{}, func(context.Context, []string) (record[pathJSON], error) {
		at := r.found()
		_, missing := os.Stat(at.Path)
		out := line(pathJSON{at.Path, missing == nil, at.State}, at.Path)
		if missing != nil {
			out = out.says("No such file yet. opdeck config init creates one.")
		}
		return out, nil
	})
}

func configShowCommand(r *root) *cobra.Command {
	return alone(r, &cobra.Command{}, func(context.Context, []string) (out record[map[string]any], err error) {
		cfg, err := r.loadConfig()
		if err != nil {
			return out, err
		}
		var m map[string]any
		_, err = toml.Decode(cfg.Text(), &m)
		out = value(m)
		out.lines = cfg.Text()
		return out, err
	})
}

// checkedJSON is a valid config file; an invalid one is an error.
type checkedJSON struct {
	Exists   bool     `json:"exists"`
	File     string   `json:"file"`
	Mistakes []string `json:"mistakes"`
}

func configCheckCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Checks the file, and what it names on this host: files of keys and passwords, lines " +
		"of authorized_keys, contexts that are one account, and addresses, which it opens for a moment. An address that a " +
		"running opdeck uses is not a mistake. Nothing is sent."}
	return alone(r, cmd, func(_ context.Context, args []string) (out record[checkedJSON], err error) {
		at := r.found()
		if len(args) == 1 {
			at.Path, at.Named = args[0], true
		}
		cfg, err := at.Load()
		var bad config.Mistakes
		if !errors.As(err, &bad) && err != nil {
			return out, err
		}
		if err == nil {
			bad = slices.Concat(cfg.LendingMistakes(r.env.Getenv, original), keyMistakes(cfg),
				hostMistakes(cfg, r.env.Getenv))
		}
		if len(bad) > 0 {
			return out, &api.Error{Kind: api.BadConfig, Public: bad.Error(), Err: bad}
		}
		out = value(checkedJSON{cfg.Path != "", at.Path, []string{}})
		if cfg.Path == "" {
			return out.says("No file at %s. The defaults apply.", strings.Join(at.Looked, " or ")), nil
		}
		return out.says("%s is valid.", at.Path), nil
	})
}

// keyMistakes are the keys of [keys] that do not exist, or that mean two things in one place.
func keyMistakes(c config.Config) (bad config.Mistakes) {
	wrong := keymap.New().Remap(c.Presses())
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		bad = append(bad, c.KeyMistake(wrong[name], name))
	}
	slices.SortStableFunc(bad, func(a, b config.Mistake) int { return a.Line - b.Line })
	return bad
}

// hostMistakes are mistakes that only this host can show: files that are missing, keys that are not accepted,
// addresses that another program has.
func hostMistakes(c config.Config, env func(string) string) config.Mistakes {
	if c.Path == "" {
		return nil
	}
	bad := slices.Concat(fileMistakes(c, env), accountMistakes(c), portMistakes(c))
	for _, p := range places(c) {
		for _, m := range sshMistakes(p.Config) {
			if !slices.Contains(bad, m) {
				bad = append(bad, m)
			}
		}
	}
	slices.SortStableFunc(bad, func(a, b config.Mistake) int { return a.Line - b.Line })
	return bad
}

// The unit of the packages copies the files of one folder to the other when it starts.
const (
	credentialsFolder = "/etc/opdeck/credentials"
	copiesFolder      = "/run/opdeck"
)

// original returns the file to check: for a copy that the unit makes when it starts, its original.
func original(path string) string {
	if filepath.Dir(path) != copiesFolder {
		return path
	}
	if _, err := os.Lstat(path); err == nil {
		return path
	}
	return filepath.Join(credentialsFolder, filepath.Base(path))
}

// fileMistakes are the secrets and files that cannot be used.
func fileMistakes(c config.Config, env func(string) string) config.Mistakes {
	bad := c.FileMistakes(env, original)
	if c.Store.KeyFile != "" {
		if _, err := seal.ReadKey(original(c.Store.KeyFile)); err != nil {
			bad = append(bad, c.MistakeAt(err.Error(), "store", "key_file"))
		}
	}
	return bad
}

// sshMistakes are a host key that cannot be used, and lines of authorized_keys and trusted_ca that are ignored.
func sshMistakes(c config.Config) (bad config.Mistakes) {
	if c.SSH.Listen == "" {
		return nil
	}
	if _, err := sshserver.LoadHostKey(original(c.SSH.HostKey)); err != nil {
		bad = append(bad, c.MistakeAt(err.Error(), "ssh", "host_key"))
	}
	keys, err := sshserver.LoadAuthorizedKeys(c.SSH.AuthorizedKeys, c.SSH.TrustedCA, time.Now)
	if err != nil {
		return append(bad, c.MistakeAt(err.Error()+`; each line is name="…",role="…" and a public key`, "ssh",
			"authorized_keys"))
	}
	for _, m := range keys.Mistakes() {
		bad = append(bad, config.Mistake{File: m.File, Line: m.Line, What: m.What})
	}
	if n, authorities := keys.Len(); n+authorities == 0 {
		bad = append(bad, c.MistakeAt("no line is accepted, so no one can log in", "ssh", "authorized_keys"))
	}
	return bad
}

// accountMistakes are contexts of one account with different rules: they share its session, index and approvals.
func accountMistakes(c config.Config) (bad config.Mistakes) {
	first := map[session.Key]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Contexts)) {
		x := c.Contexts[name]
		key, err := session.NormalKey(x.BaseURL, x.Login)
		if err != nil || x.Sandbox {
			continue
		}
		other, taken := first[key]
		if !taken {
			first[key] = name
			continue
		}
		if y := c.Contexts[other]; y.Kind != x.Kind || y.Approval != x.Approval {
			bad = append(bad, c.MistakeAt(fmt.Sprintf("is the same account as contexts.%s (base_url and login), with another "+
				"kind or approval: both use one session, one index and one list of approvals, so the weaker rule counts", other),
				"contexts", name))
		}
	}
	return bad
}

// serving is the config as one opdeck serve uses it: that of the sections, or that of a context with its own addresses.
type serving struct {
	config.Config
	context string // "" : the sections
}

// places are the servers that one file can start beside each other.
func places(c config.Config) []serving {
	out, sections := []serving{}, len(c.Contexts) == 0
	for _, name := range slices.Sorted(maps.Keys(c.Contexts)) {
		x := c.Contexts[name]
		if sections = sections || x.Serve == (config.Place{}); x.Serve != (config.Place{}) {
			out = append(out, serving{c.In(x), name})
		}
	}
	if sections {
		out = append([]serving{{c, ""}}, out...)
	}
	return out
}

// key is where an address of the place is set.
func (p serving) key(section, name, part string) []string {
	if p.context == "" {
		return []string{section, name}
	}
	return []string{"contexts", p.context, "serve", part}
}

// portMistakes are addresses that two parts or two contexts share, or that another program has.
func portMistakes(c config.Config) (bad config.Mistakes) {
	used := map[string]string{}
	for _, p := range places(c) {
		for _, l := range []struct{ addr, section, name, part string }{{p.SSH.Listen, "ssh", "listen", "ssh"},
			{p.Webhooks.Listen, "webhooks", "listen", "webhooks"}, {p.Lend.Listen, "lend", "listen", "lend"},
			{p.Serve.Metrics, "serve", "metrics", "metrics"}} {
			_, port, err := net.SplitHostPort(l.addr)
			if l.addr == "" || err != nil || port == "0" {
				continue
			}
			key := p.key(l.section, l.name, l.part)
			if other, twice := used[l.addr]; twice {
				bad = append(bad, c.MistakeAt(l.addr+" is the address of "+other+", too", key...))
				continue
			}
			used[l.addr] = strings.Join(key, ".")
			if what := portFault(l.addr); what != "" {
				bad = append(bad, c.MistakeAt(l.addr+" "+what, key...))
			}
		}
	}
	return bad
}

// portFault says why opdeck serve could not listen on an address; "" if it could, or does.
func portFault(addr string) string {
	taken, err := listen.Taken(addr)
	switch {
	case err != nil:
		return "cannot be opened: " + err.Error()
	case taken && !listen.Ours(addr):
		return "is in use by another program; end it, or set another address"
	}
	return ""
}
