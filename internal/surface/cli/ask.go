package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/secret"
)

// writeFlags adds what every write has.
func (r *root) writeFlags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&r.dryRun, "dry-run", false, "print method, path and body as JSON, and send nothing")
	cmd.Flags().BoolVar(&r.yes, "yes", false, "do not ask")
	return cmd
}

// confirm asks on the terminal; without one, a write needs --yes. In a
// production context the answer is the end of the id of what is changed.
func (r *root) confirm(ctx context.Context, question, id string) error {
	switch {
	case r.yes || r.dryRun:
		return nil
	case !r.env.InTTY:
		return &api.Error{Kind: api.Usage, Public: "This changes something and standard input is no terminal.",
			Hint: "Give --yes to confirm, or --dry-run to see what would be sent."}
	}
	tail := lastRunes(id, 4)
	if r.real && tail != "" {
		fmt.Fprintf(r.env.Err, "PRODUCTION. %s\nType the last characters of the id, %s, to go on: ", safeText(question), oneLine(tail))
	} else {
		fmt.Fprintf(r.env.Err, "%s [y/N] ", safeText(question))
	}
	line, err := readLine(ctx, bufio.NewReader(r.env.In))
	if err != nil && line == "" {
		return &api.Error{Kind: api.Interrupted, Public: "Not confirmed; nothing was sent."}
	}
	answer := strings.TrimSpace(line)
	good := strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
	if r.real && tail != "" {
		good = answer == tail
	}
	if !good {
		return &api.Error{Kind: api.Usage, Public: "Not confirmed; nothing was sent."}
	}
	return nil
}

// readLine reads a line that a person types, and ends at once with ctx: ctrl+c does
// not wait for enter. What is typed after that is nobody's.
func readLine(ctx context.Context, in *bufio.Reader) (string, error) {
	type answer struct {
		line string
		err  error
	}
	typed := make(chan answer, 1)
	go func() {
		line, err := in.ReadString('\n')
		typed <- answer{line, err}
	}()
	select {
	case a := <-typed:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func lastRunes(s string, n int) string {
	r := []rune(s)
	return string(r[max(0, len(r)-n):])
}

// write runs fn, or in a dry run prints the acts that it would have sent.
func (r *root) write(ctx context.Context, fn func(ctx context.Context) error) error {
	if !r.dryRun {
		return fn(ctx)
	}
	dry, acts := api.DryRun(ctx)
	if err := fn(dry); err != nil && !errors.Is(err, api.ErrDryRun) {
		return err
	}
	for _, a := range *acts {
		body := a.Body
		if body == nil {
			body = json.RawMessage("null")
		}
		if err := r.printJSON(map[string]any{"method": a.Method, "path": a.Path, "body": body}); err != nil {
			return err
		}
	}
	return nil
}

const maxSecretInput = 16 << 10

// readSecret takes a secret from a file, from standard input, or from a hidden
// prompt; never from an argument.
func (r *root) readSecret(file, prompt string) (string, error) {
	switch {
	case file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return "", &api.Error{Kind: api.Usage, Public: "The file with the secret cannot be read.", Err: err}
		}
		return string(b[:min(len(b), maxSecretInput)]), nil
	case r.env.InTTY && r.env.Secret != nil:
		s, err := r.env.Secret(prompt)
		if errors.Is(err, context.Canceled) {
			return "", &api.Error{Kind: api.Interrupted, Public: "Stopped; nothing was sent.", Err: err}
		}
		return s, err
	}
	b, err := io.ReadAll(io.LimitReader(r.env.In, maxSecretInput))
	if err != nil {
		return "", &api.Error{Kind: api.Usage, Public: "The secret could not be read from standard input.", Err: err}
	}
	return string(b), nil
}

// shareToken reads and checks a share token.
func (r *root) shareToken(file string) (secret.Value, error) {
	s, err := r.readSecret(file, "Share token (not shown): ")
	if err != nil {
		return secret.Value{}, err
	}
	return api.CheckShareToken(s)
}
