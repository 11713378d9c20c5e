package cli

import (
	"errors"
	"io"
	"math"
	"os"

	"opdeck/api"
	"opdeck/internal/system/wholefile"
)

// unbounded as the limit of read means none.
const unbounded = math.MaxInt64 - 1

// read reads the file named by an argument, or standard input for -, up to max bytes; tooLarge is the error for more.
func (r *root) read(name string, max int64, tooLarge string) ([]byte, error) {
	in, done, err := openAll(r, []string{name})
	defer done()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(in, max+1))
	switch {
	case err != nil:
		return nil, &api.Error{Kind: api.Usage, Public: "The file cannot be read: " + name + ".", Err: err}
	case int64(len(b)) > max:
		return nil, &api.Error{Kind: api.Usage, Public: tooLarge}
	}
	return b, nil
}

// openAll opens files as one concatenated reader; done closes them.
func openAll(r *root, names []string) (all io.Reader, done func(), err error) {
	var files []io.Reader
	var closers []io.Closer
	done = func() {
		for _, c := range closers {
			_ = c.Close()
		}
	}
	for _, name := range names {
		if name == "-" {
			files = append(files, r.env.In)
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, done, &api.Error{Kind: api.Usage, Public: "The file cannot be read: " + name + ".", Err: err}
		}
		files, closers = append(files, f), append(closers, f)
	}
	return io.MultiReader(files...), done, nil
}

// notToTerminal returns an error if the output is a terminal, for bytes that could control it.
func (r *root) notToTerminal(what string) error {
	if !r.env.OutTTY {
		return nil
	}
	return usage("%s is not written to a terminal: name a file, or send the output to a file or a pipe", what)
}

// toFile passes fn standard output, or a new file of mode 0600 that is removed if fn fails.
func (r *root) toFile(args []string, fn func(io.Writer) error) error {
	if len(args) == 0 || args[0] == "-" {
		return fn(r.env.Out)
	}
	err := wholefile.Write(args[0], fn)
	var worded *api.Error
	if err == nil || errors.As(err, &worded) {
		return err
	}
	return &api.Error{Kind: api.Usage, Public: "The file cannot be written, or already exists: " + args[0] + ".",
		Err: err}
}
