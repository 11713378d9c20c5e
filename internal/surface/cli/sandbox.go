package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/sandbox"
)

func sandboxCommand(r *root) *cobra.Command {
	opt := sandbox.Options{Fresh: true}
	addr := ""
	cmd := &cobra.Command{Long: "Serves the built-in service until it is interrupted. It prints its address, its\n" +
		"login, share tokens and a config that is ready to be used. Without --data everything is\nin memory.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opt.Operations < 0 || opt.AccessTTL < 0 || opt.RefreshTTL < 0 {
				return usage("numbers and lifetimes must not be negative")
			}
			s, err := sandbox.Open(cmd.Context(), opt)
			if err != nil {
				return &api.Error{Kind: api.Unavailable, Public: "The built-in service cannot be opened: " + err.Error(), Err: err}
			}
			if err = s.Serve(cmd.Context(), addr, r.env.Out); err != nil {
				err = &api.Error{Kind: api.Unavailable, Public: "The built-in service cannot be served: " + err.Error(),
					Hint: "Another --addr may be free; 127.0.0.1:0 takes any port.", Err: err}
			}
			return errors.Join(err, s.Close())
		}}
	f := cmd.Flags()
	f.StringVar(&addr, "addr", "127.0.0.1:8787", "address to listen on")
	f.StringVar(&opt.Path, "data", "", "file that keeps the data; empty: memory")
	f.IntVar(&opt.Operations, "operations", 0, "sample operations of a new file (default 500)")
	f.DurationVar(&opt.AccessTTL, "access-ttl", 0, "lifetime of access tokens (default 5m)")
	f.DurationVar(&opt.RefreshTTL, "refresh-ttl", 0, "lifetime of refresh tokens (default 15m)")
	f.StringVar(&opt.HookURL, "hook-url", "", "send webhooks to this address")
	f.BoolVar(&opt.HardLimits, "hard-limits", false, "answer 429 above the recommended rates")
	return cmd
}
