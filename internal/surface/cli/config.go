package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
)

var configCommands = commands{
	"config.init": (*root).configInit, "config.check": (*root).configCheck, "config.show": (*root).configShow,
	"config.path": (*root).configPath,
}

// loadConfig reads the file that the flags and the environment name.
func (r *root) loadConfig() (config.Config, error) {
	return config.Load(config.Path(r.config, r.env.Getenv))
}

func (r *root) configPath() *cobra.Command {
	return &cobra.Command{Use: "path", RunE: func(*cobra.Command, []string) error {
		path, _ := config.Path(r.config, r.env.Getenv)
		_, err := os.Stat(path)
		if r.output == "json" {
			return r.printJSON(map[string]any{"config": path, "exists": err == nil, "state": config.StateDir(r.state, r.env.Getenv)})
		}
		if err != nil {
			r.say("There is no such file yet; opdeck config init makes one.")
		}
		_, err = fmt.Fprintln(r.env.Out, oneLine(path))
		return err
	}}
}

func (r *root) configCheck() *cobra.Command {
	return &cobra.Command{Use: "check", RunE: func(_ *cobra.Command, args []string) error {
		path, named := config.Path(r.config, r.env.Getenv)
		if len(args) == 1 {
			path, named = args[0], true
		}
		cfg, err := config.Load(path, named)
		bad := checkViews(path, cfg)
		if errors.As(err, &bad) || len(bad) > 0 {
			return &api.Error{Kind: api.BadConfig, Public: bad.Error(), Err: bad}
		}
		if err != nil {
			return err
		}
		if cfg.Path == "" {
			r.say("There is no file at %s; the defaults hold.", path)
		} else {
			r.say("%s is good.", path)
		}
		if r.output == "json" {
			return r.printJSON(map[string]any{"file": path, "exists": cfg.Path != "", "mistakes": []string{}})
		}
		return nil
	}}
}

// checkViews tries the filters and orders of saved views.
func checkViews(path string, cfg config.Config) config.Mistakes {
	var bad config.Mistakes
	for name, v := range cfg.Views {
		if _, err := filter.Parse(v.Filter); err != nil {
			bad = append(bad, config.Mistake{File: path, Key: "views." + name + ".filter", What: err.Error()})
		}
		if _, err := index.ParseSort(v.Sort); err != nil {
			bad = append(bad, config.Mistake{File: path, Key: "views." + name + ".sort", What: err.Error()})
		}
	}
	return bad
}

func (r *root) configShow() *cobra.Command {
	return &cobra.Command{Use: "show", RunE: func(*cobra.Command, []string) error {
		cfg, err := r.loadConfig()
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := toml.NewEncoder(&b).Encode(withoutSecrets(cfg)); err != nil {
			return fmt.Errorf("config: %w", err)
		}
		if r.output == "json" {
			var m map[string]any
			if _, err := toml.Decode(b.String(), &m); err != nil {
				return fmt.Errorf("config: %w", err)
			}
			return r.printJSON(m)
		}
		var out strings.Builder
		for line := range strings.Lines(b.String()) {
			out.WriteString(oneLine(strings.TrimRight(line, "\n")) + "\n")
		}
		_, err = fmt.Fprint(r.env.Out, out.String())
		return err
	}}
}

// withoutSecrets replaces what may hold a secret: the password within the
// store's URL, and the commands that print passwords.
func withoutSecrets(c config.Config) config.Config {
	if u, err := url.Parse(c.Store.URL); err != nil || u.User != nil || u.RawQuery != "" {
		c.Store.URL = "postgres://••••"
		if err == nil {
			c.Store.URL = u.Scheme + "://••••@" + u.Host + u.Path
		}
	}
	contexts := map[string]config.Context{}
	for name, x := range c.Contexts {
		if x.PasswordCommand != "" {
			x.PasswordCommand = "••••"
		}
		contexts[name] = x
	}
	c.Contexts = contexts
	return c
}
