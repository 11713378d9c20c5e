package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"opdeck/api"
	"opdeck/api/secret"
)

// readLine reads a typed line and returns at once when ctx ends: ctrl+c does not wait for enter. Later input is
// discarded.
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

// write runs fn; in a dry run it prints the acts that fn would have sent.
func (r *root) write(ctx context.Context, fn func(ctx context.Context) error) error {
	if !r.dryRun {
		return fn(ctx)
	}
	dry, acts := api.DryRun(ctx)
	if err := fn(dry); err != nil && !errors.Is(err, api.ErrDryRun) {
		return err
	}
	for _, a := range *acts {
		out := dryJSON{Method: &a.Method, Path: &a.Path}
		if a.Body != nil {
			out.Body = a.Body
		}
		if err := r.dry.json(out); err != nil {
			return err
		}
	}
	return nil
}

// dryJSON is a call that would be sent; all fields are null if there is none.
type dryJSON struct {
	Body   any     `json:"body"`
	Method *string `json:"method"`
	Path   *string `json:"path"`
}

const maxSecretInput = 16 << 10

// readSecret reads a secret from a file, standard input or a hidden prompt, never from an argument.
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
func shareToken(r *root, file string) (secret.Value, error) {
	s, err := r.readSecret(file, "Share token (not shown): ")
	if err != nil {
		return secret.Value{}, err
	}
	return api.CheckShareToken(s)
}
