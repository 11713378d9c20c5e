package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/lending"
)

// source is where the config says that a secret is. Its keys begin with name: password_env.
type source struct {
	name               string
	env, file, command string
	lines              int // the most that it may have
}

// read reads the secret; empty if no key says where it is. The error names the key or the file, and never shows the
// secret.
func (s source) read(ctx context.Context, c *Config, env func(string) string) (secret.Value, error) {
	switch {
	case s.file != "":
		return secretFile(s.file, s.lines)
	case s.command != "":
		return secretCommand(ctx, s.name+"_command", s.command, c.ChildEnv())
	case s.env == "":
		return secret.Value{}, nil
	}
	v, err := writtenIn(s.env, env, s.lines)
	if err == nil && v.Empty() {
		err = fmt.Errorf("the environment variable %s (%s_env) is empty or not set", s.env, s.name)
	}
	return v, err
}

// writtenIn reads the secret in an environment variable; empty if it is not set.
func writtenIn(name string, env func(string) string, lines int) (secret.Value, error) {
	text := env(name)
	if text == "" {
		return secret.Value{}, nil
	}
	v, err := secret.Written([]byte(text), lines)
	if err != nil {
		return v, fmt.Errorf("the environment variable %s %w", name, err)
	}
	return v, nil
}

// Password reads the password of the machine account in a context.
func (c *Config) Password(ctx context.Context, x Context, env func(string) string) (secret.Value, error) {
	if x.Sandbox {
		return secret.New("sandbox"), nil
	}
	v, err := source{"password", x.PasswordEnv, x.PasswordFile, x.PasswordCommand, 1}.read(ctx, c, env)
	if err == nil && v.Empty() {
		err = fmt.Errorf("the context %s has no password setting", x.Name)
	}
	return v, err
}

// PassphraseEnv is the variable with the passphrase of backups, if no file has it.
const PassphraseEnv = "OPDECK_BACKUP_PASSPHRASE"

// Passphrase reads the passphrase of backups; empty if there is none.
func (b Backup) Passphrase(env func(string) string) (secret.Value, error) {
	if b.PassphraseFile != "" {
		return SecretFile(b.PassphraseFile)
	}
	return writtenIn(PassphraseEnv, env, 1)
}

// BorrowerKey reads and checks the key of a borrower.
func (c *Config) BorrowerKey(b Borrower, env func(string) string) (secret.Value, error) {
	key, err := source{name: "key", env: b.KeyEnv, file: b.KeyFile, lines: 1}.read(context.Background(), c, env)
	if err != nil {
		return key, err
	}
	return key, lending.CheckKey(key)
}

// MistakeIn is a mistake in the key of a borrower, at the setting that names it.
func (c *Config) MistakeIn(borrower string, err error) Mistake {
	setting := "key_env"
	if c.Lend.Borrowers[borrower].KeyEnv == "" {
		setting = "key_file"
	}
	return c.MistakeAt(err.Error(), "lend", "borrowers", borrower, setting)
}

// HookSecret reads the secret of [webhooks], with the old one on a second line during a rotation; empty if none is set.
func (c *Config) HookSecret(env func(string) string) (secret.Value, error) {
	s := source{name: "secret", env: c.Webhooks.SecretEnv, file: c.Webhooks.SecretFile, lines: 2}
	if s.env != "" {
		s.file = ""
	}
	return s.read(context.Background(), c, env)
}

// NoticeSecret reads the secret that signs the notices for a URL.
func (c *Config) NoticeSecret(env func(string) string) (secret.Value, error) {
	s := source{name: "secret", env: c.Notify.SecretEnv, file: c.Notify.SecretFile, lines: 1}
	return s.read(context.Background(), c, env)
}

// SecretNames are the environment variables that hold secrets, of all contexts: those that the keys name, and the two
// that have a name of their own.
func (c *Config) SecretNames() []string {
	names := []string{"OPDECK_PASSWORD", PassphraseEnv}
	for _, s := range c.sections() {
		for _, k := range s.keys {
			if k.use == secretEnv && k.text() != "" {
				names = append(names, k.text())
			}
		}
	}
	return names
}

// FileMistakes are the secrets and files that the config names and that cannot be used, as far as this host can tell:
// a variable that is not set here may be set where opdeck runs. at says where a named file is until then.
func (c *Config) FileMistakes(env func(string) string, at func(string) string) (bad Mistakes) {
	for _, s := range c.sections() {
		for _, k := range s.keys {
			if err := k.usable(env, at); k.text() != "" && err != nil {
				bad = append(bad, c.MistakeAt(err.Error(), append(slices.Clone(s.at), k.name)...))
			}
		}
	}
	return bad
}

func (k key) usable(env func(string) string, at func(string) string) (err error) {
	switch k.use {
	case secretEnv:
		_, err = writtenIn(k.text(), env, 2)
	case secretText:
		_, err = secretFile(at(k.text()), 1)
	case secretLines:
		_, err = secretFile(at(k.text()), 2)
	case file:
		var f *os.File
		if f, err = os.Open(at(k.text())); err != nil {
			return errors.New(k.text() + ": " + reason(err))
		}
		err = f.Close()
	}
	return err
}

// ChildEnv is the environment of a program that opdeck starts: its own without the variables that hold secrets, and
// without others.
func (c *Config) ChildEnv(others ...string) []string {
	names := append(append(c.SecretNames(), "PGPASSWORD"), others...) // the second completes [store] url
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// SecretFile reads a secret of one line from a regular file that only its owner can read.
func SecretFile(path string) (secret.Value, error) { return secretFile(path, 1) }

func secretFile(path string, lines int) (secret.Value, error) {
	bad := func(err error) (secret.Value, error) {
		return secret.Value{}, fmt.Errorf("secret file %s %w", path, err)
	}
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return bad(errors.New("is missing"))
	case err != nil:
		return bad(errors.New("cannot be read: " + reason(err)))
	case !st.Mode().IsRegular():
		return bad(errors.New("is not a regular file"))
	case st.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/':
		return bad(fmt.Errorf("has mode %04o, which lets others read it; chmod 600 %s", st.Mode().Perm(), path))
	case st.Size() > secret.MaxWritten:
		return bad(fmt.Errorf("is longer than %d bytes", secret.MaxWritten))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return bad(errors.New("cannot be read: " + reason(err)))
	}
	v, err := secret.Written(b, lines)
	if err != nil {
		return bad(err)
	}
	return v, nil
}

const (
	commandTimeout = 10 * time.Second
	commandLeft    = time.Second // for programs that it started and that keep its output open
)

func secretCommand(ctx context.Context, name, line string, env []string) (secret.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env, cmd.WaitDelay = env, commandLeft
	var out, complaint bytes.Buffer
	cmd.Stdout = &limited{w: &out, left: secret.MaxWritten + 1}
	cmd.Stderr = &limited{w: &complaint, left: secret.MaxWritten}
	began := time.Now()
	err := cmd.Run()
	said := complaintOf(complaint.String(), out.String())
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return secret.Value{}, fmt.Errorf("%s did not end within %s%s", name,
			max(time.Since(began).Round(time.Second), time.Second), said)
	case err != nil:
		return secret.Value{}, fmt.Errorf("%s failed: %w%s", name, err, said)
	}
	v, err := secret.Written(out.Bytes(), 1)
	if err != nil {
		return v, fmt.Errorf("what %s prints %w%s", name, err, said)
	}
	return v, nil
}

// maxComplaint bounds what is quoted of a command's standard error, in characters.
const maxComplaint = 200

var longWord = regexp.MustCompile(`\S{40,}`)

// complaintOf quotes the first line of a command's standard error, safe to draw: without what the command printed as
// the password, whole or by line, and without anything like a token. It is "" if there is none.
func complaintOf(complaint, printed string) string {
	for _, line := range strings.Split(printed, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			complaint = strings.ReplaceAll(complaint, line, "…")
		}
	}
	for line := range strings.Lines(complaint) {
		if line = strings.TrimSpace(longWord.ReplaceAllString(line, "…")); line != "" {
			return `; it says: "` + untrusted.Text(line).Line(maxComplaint) + `"`
		}
	}
	return ""
}

// limited discards everything beyond a limit.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
