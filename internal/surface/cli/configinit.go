package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app/config"
	"opdeck/internal/system/wholefile"
)

// draft is a new config.
type draft struct {
	name, baseURL, login, kind, caFile string
	password                           string    // the answer where it is: NAME, file:PATH or command:WORDS
	passwords                          [3]string // the same, by flags
	readOnly, secondPerson             bool
	force, offline, builtIn            bool
}

// passwordPlaces are where a password can be, as the flags, the answers and the file say it.
var passwordPlaces = [3]struct{ flag, key, prefix, help string }{
	{"password-env", "password_env", "", "environment variable that contains the password"},
	{"password-file", "password_file", "file:", "file (mode 0400 or 0600) that contains the password"},
	{"password-command", "password_command", "command:", "command that prints the password"}}

func configInitCommand(r *root) *cobra.Command {
	var d draft
	cmd := &cobra.Command{Long: "Creates the config file with one context. On a terminal it asks for what the flags do " +
		"not give; elsewhere the flags are required. It never asks for the password itself: the file says where to find " +
		"it. Then it checks the connection as opdeck doctor does, unless you give --offline."}
	out := also[doctorJSON, doctorJSON](r, cmd, "")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return initConfig(r, cmd.Context(), &d, out) }
	f := cmd.Flags()
	f.StringVar(&d.name, "name", "", "name of the context, for example stage")
	f.StringVar(&d.baseURL, "base-url", "", "address of the service")
	f.StringVar(&d.login, "login", "", "login of the machine account")
	for i, p := range passwordPlaces {
		f.StringVar(&d.passwords[i], p.flag, "", p.help)
	}
	f.StringVar(&d.kind, "kind", "", "test or production")
	f.StringVar(&d.caFile, "ca-file", "", "a certificate authority in addition to the system's")
	f.BoolVar(&d.readOnly, "read-only-context", false, "the context refuses every write")
	f.BoolVar(&d.secondPerson, "second-person", false, "writes need a second person's approval")
	f.BoolVar(&d.builtIn, "sandbox", false, "the context is the built-in service")
	f.BoolVar(&d.force, "force", false, "replace an existing file")
	f.BoolVar(&d.offline, "offline", false, "do not check the connection afterwards")
	return cmd
}

func initConfig(r *root, ctx context.Context, d *draft, out func(record[doctorJSON]) error) error {
	path, put := r.found().Own, wholefile.Create
	if d.force {
		put = wholefile.Replace
	} else if _, err := os.Lstat(path); err == nil {
		return &api.Error{Kind: api.Usage, Public: path + " already exists; nothing was changed.",
			Hint: "Use --force to replace it, or --config to name another file."}
	}
	if err := fillDraft(r, ctx, d, path); err != nil {
		return err
	}
	src := d.toml()
	if _, err := config.Parse(path, []byte(src)); err != nil {
		return err
	}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = put(path, []byte(src))
	}
	if err != nil {
		return &api.Error{Kind: api.Usage, Public: "The config file cannot be written: " + path + ".",
			Hint: "Check the folder and its permissions.", Err: err}
	}
	r.say("Written: %s", path)
	if d.offline {
		return nil
	}
	r.say("Checking each step from here to the service:")
	opt := r.appOptions()
	opt.ConfigFlag, opt.Context = path, d.name
	v, err := runDoctor(r, ctx, opt, false)
	if err == nil {
		err = out(v)
	}
	if err != nil {
		r.say("Fix the error, then run opdeck doctor. The file is kept.")
		return err
	}
	r.say("Next: opdeck opens the console, opdeck doctor --login tries the password.")
	return nil
}

// question is one question of config init.
type question struct {
	to       *string
	ask, def string
	check    func(string) error
	before   string // lines before it on a terminal
	offered  bool   // def is only a suggestion on a terminal: elsewhere a flag is required
}

// questions are in the order of asking.
func (d *draft) questions() []question {
	list := []question{{to: &d.name, ask: "Name of the context", def: "stage", check: checkName, offered: !d.builtIn}}
	if !d.builtIn {
		list = append(list, question{to: &d.baseURL, ask: "Address of the service, https://…", check: checkAddress},
			question{to: &d.login, ask: "Login of the machine account", check: func(string) error { return nil }})
	}
	if !d.builtIn && d.passwords == [3]string{} {
		list = append(list, question{to: &d.password, ask: "Where to find it", def: "OPDECK_PASSWORD", check: checkWhere,
			offered: true, before: "The file does not hold the password. It says where to find it.\n" +
				"  NAME           in this environment variable\n" +
				"  file:PATH      in this file (mode 0400 or 0600)\n" +
				"  command:WORDS  printed by this command"})
	}
	return append(list, question{to: &d.kind, ask: "Kind, test or production", def: "test", check: checkKind})
}

// fillDraft asks for missing values on a terminal; elsewhere they are a mistake.
func fillDraft(r *root, ctx context.Context, d *draft, path string) error {
	in := bufio.NewReader(r.env.In)
	open := slices.DeleteFunc(d.questions(), func(q question) bool { return *q.to != "" })
	if r.env.InTTY && len(open) > 0 {
		r.say("This creates %s with one context. ctrl+c stops without writing anything;\n"+
			"you can change every answer in the file later.\n", path)
	}
	for _, q := range open {
		if r.env.InTTY {
			if err := r.askLine(ctx, in, q); err != nil {
				return err
			}
			continue
		}
		if *q.to = q.def; q.def == "" || q.offered {
			return &api.Error{Kind: api.Usage, Public: "Standard input is not a terminal, so all flags are required.",
				Hint: "Needed: --name, --base-url, --login and one of --password-env, --password-file, --password-command; or " +
					"--sandbox."}
		}
	}
	for i, p := range slices.Backward(passwordPlaces[:]) { // the first has no prefix
		if rest, is := strings.CutPrefix(d.password, p.prefix); is && d.passwords == [3]string{} {
			d.passwords[i] = rest
		}
	}
	return nil
}

func (r *root) askLine(ctx context.Context, in *bufio.Reader, q question) error {
	if q.before != "" {
		r.say("%s", q.before)
	}
	def := ""
	if q.def != "" {
		def = " [" + q.def + "]"
	}
	for {
		fmt.Fprintf(r.env.Err, "%s%s: ", q.ask, def)
		line, err := readLine(ctx, in)
		line = strings.TrimSpace(line)
		if ctx.Err() != nil || err != nil && line == "" {
			return &api.Error{Kind: api.Interrupted, Public: "Stopped; nothing was written."}
		}
		*q.to = cmp.Or(line, q.def)
		if *q.to == "" {
			r.say("an answer is needed")
		} else if err := q.check(*q.to); err != nil {
			r.say("%s", err)
		} else {
			return nil
		}
	}
}

// checkName returns an error for an invalid context name, before more is asked.
func checkName(s string) error {
	if _, err := config.Parse("", []byte("[contexts."+strconv.Quote(s)+"]\nsandbox = true\n")); err != nil {
		return errors.New("a context's name consists of letters, digits, dots, dashes and underscores")
	}
	return nil
}

func checkAddress(s string) error {
	err := config.CheckBaseURL(s)
	if err == nil || errors.Is(err, config.ErrPlainHTTP) {
		return err
	}
	return fmt.Errorf("the address %w", err)
}

// checkWhere returns an error unless s says where a password is; s may be the password itself, so the error does not
// repeat it.
func checkWhere(s string) error {
	for _, p := range passwordPlaces[1:] {
		if rest, ok := strings.CutPrefix(s, p.prefix); ok && rest != "" {
			return nil
		}
	}
	if strings.Trim(s, nameCharacters) != "" {
		return errors.New("not a name of an environment variable; do not put the password itself into the file")
	}
	return nil
}

// nameCharacters are allowed in names without quotes.
const nameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

func checkKind(s string) error {
	if s != string(config.Test) && s != string(config.Production) {
		return errors.New("test or production")
	}
	return nil
}

// toml is the file, with comments on what a person may want to change next.
func (d *draft) toml() string {
	var b strings.Builder
	key := d.name
	if strings.Trim(key, nameCharacters+"-") != "" {
		key = strconv.Quote(key)
	}
	fmt.Fprintf(&b, "# opdeck's configuration. opdeck config check looks for mistakes; the example file that\n"+
		"# comes with opdeck shows every key with its default.\n\ndefault_context = %q\n\n"+
		"# Where the shared session, budgets, audit trail and index live: \"sqlite\" is one file for this\n"+
		"# host, \"postgres://user@host/db\" one database for many.\n[store]\nurl = \"sqlite\"\n\n[contexts.%s]\n", d.name,
		key)
	if d.builtIn {
		b.WriteString("sandbox = true # the built-in service, with sample data\n")
	} else {
		fmt.Fprintf(&b, "base_url = %q\nlogin = %q\n# The password: one of password_env, password_file (mode 0400 or 0600) "+
			"and password_command.\n", d.baseURL, d.login)
		for i, p := range passwordPlaces {
			if d.passwords[i] != "" {
				fmt.Fprintf(&b, "%s = %q\n", p.key, d.passwords[i])
			}
		}
		if d.caFile != "" {
			fmt.Fprintf(&b, "ca_file = %q\n", d.caFile)
		}
	}
	approval := "none"
	if d.secondPerson {
		approval = "second_person"
	}
	fmt.Fprintf(&b, "kind = %q # \"test\" or \"production\"; production is marked and asks for typed confirmation\n"+
		"read_only = %v\napproval = %q # \"none\" or \"second_person\": writes then need a colleague\n", d.kind, d.readOnly,
		approval)
	b.WriteString("\n# Recommended calls a minute, for all opdeck processes together.\n[limits]\npolicy = " +
		"\"wait\"\nmax_wait = \"30s\"\n")
	return b.String()
}
