package app

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/app/config"
	"opdeck/internal/store/files"
)

// chosen is the config, its context and the state folder of a command.
type chosen struct {
	config  config.Config
	context config.Context
	state   string
}

// choose reads the config and chooses the context. Only the owner of the state may use it: for another user the error
// is a *files.UnsafePathError with its Owner.
func choose(opt Options) (c chosen, err error) {
	found := config.Find(opt.ConfigFlag, opt.StateFlag, opt.Getenv, opt.System)
	c.state = found.State
	foreign := files.Foreign(c.state)
	if c.config, err = found.Load(); err != nil {
		if _, open := os.Open(found.Path); errors.Is(open, fs.ErrPermission) && foreign != nil {
			return c, foreign
		}
		return c, err
	}
	var byName bool
	if c.context, byName, err = pick(c.config, opt.Context); err != nil {
		return c, err
	}
	switch {
	case byName:
	case opt.Least > act.NoConfig && c.config.Path == "":
		return c, &api.Error{Kind: api.BadConfig, Err: ErrUnconfigured,
			Public: "There is no config file: --config and $OPDECK_CONFIG are not set, and there is no " +
				strings.Join(found.Looked, " and no ") + ".",
			Hint: "opdeck config init creates one; -c sandbox uses the built-in service."}
	case opt.Least == act.AContext:
		return c, &api.Error{Kind: api.BadConfig, Err: ErrUnconfigured,
			Public: "The config " + c.config.Path + " has no [contexts.NAME], so it names no service.",
			Hint:   "Add a context; -c sandbox uses the built-in service."}
	}
	if opt.Chosen != nil {
		opt.Chosen(c.context, byName)
	}
	if core := placesOf(c.config, c.state).core; foreign == nil && core != "" {
		foreign = files.Foreign(filepath.Dir(core))
	}
	if foreign != nil {
		return c, foreign
	}
	return c, nil
}

// Owned returns the error of a state that belongs to another user.
func Owned(opt Options) error {
	opt = opt.filled()
	opt.Chosen = nil
	_, err := choose(opt)
	var foreign *files.UnsafePathError
	if errors.As(err, &foreign) {
		return err
	}
	return nil
}

// ErrUnconfigured is in the error of a command that needs a config or a context and found none.
var ErrUnconfigured = errors.New("app: not configured")

// pick returns the context: by name, the default, the only one, or the built-in service if there is none; byName is
// false only then.
func pick(cfg config.Config, name string) (c config.Context, byName bool, err error) {
	if name == "" {
		name = cfg.DefaultContext
	}
	names := slices.Sorted(maps.Keys(cfg.Contexts))
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	if c, ok := cfg.Contexts[name]; ok {
		c.Proxy = cfg.Service.Proxy
		if c.Sandbox {
			built := config.SandboxContext()
			c.BaseURL, c.Login = built.BaseURL, built.Login
		}
		return c, true, nil
	}
	switch {
	case name == "sandbox" || name == "" && len(names) == 0:
		return config.SandboxContext(), name != "", nil
	case name == "":
		return c, false, &api.Error{Kind: api.BadConfig,
			Public: "The config has several contexts and no default_context.",
			Remedy: api.Remedy{Kind: api.ChooseContext, Names: names}}
	}
	return c, false, errNoContext(name, append(names, "sandbox"))
}
