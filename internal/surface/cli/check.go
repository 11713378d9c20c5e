package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
	"opdeck/ui/draw"
)

// checkWithin is when a check answers at the latest, whatever is locked: monitors give up after ten seconds.
const checkWithin = 6 * time.Second

// checkJSON is a check for programs.
type checkJSON struct {
	Context  string            `json:"context"`
	State    string            `json:"state"` // OK, WARNING, CRITICAL or UNKNOWN
	Says     string            `json:"says"`
	Findings []checkFinding    `json:"findings"`
	Parts    map[string]string `json:"parts"` // good, warning, critical or not known
}

// checkFinding is a finding with the word of its severity.
type checkFinding struct {
	Severity string `json:"severity"`
	verdict.Finding
}

func findingsOf(found []verdict.Finding) []checkFinding {
	out := make([]checkFinding, 0, len(found))
	for _, f := range found {
		out = append(out, checkFinding{f.Severity.String(), f})
	}
	return out
}

func checkCommand(r *root) *cobra.Command {
	var all bool
	cmd := &cobra.Command{Long: "Prints one line as a Nagios plugin does: exit 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. " +
		"It says what is wrong, since when, what to do and who can do it. It checks whether the session can be renewed, " +
		"not how old the token is. A fact without recent evidence is unknown, never OK. It answers within 8 seconds. -o " +
		"json has every cause with its evidence and the next try.\n\n" +
		"PART is one or more of " + strings.Join(partNames(), ", ") + ". Without any it checks every part. If " +
		"nothing is known of the service, it sends one request without a login."}
	out := also[checkJSON, checkJSON](r, cmd, "")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		parts, wrong := checkedParts(all, args)
		if wrong != "" {
			return plugin(r, r.chosen, "OPDECK", nagiosUnknown, wrong)
		}
		c := check(cmd.Context(), r, parts, func(ctx context.Context, a *app.App) (c checked, _ error) {
			if slices.Contains(parts, verdict.PartService) || slices.Contains(parts, verdict.PartSession) {
				c.verdict = app.Probed(ctx, a)
			} else {
				c.verdict = app.Verdict(ctx, a)
			}
			c.code, c.line = checkLine(c.verdict, parts)
			return c, nil
		})
		if r.output == "table" {
			return plugin(r, c.context, "OPDECK", c.code, c.line)
		}
		said, _, _ := strings.Cut(c.line, " | ")
		j := checkJSON{Context: c.context, State: nagiosWords[c.code], Says: said,
			Findings: findingsOf(concerning(c.verdict, parts)), Parts: map[string]string{}}
		for _, p := range parts {
			j.Parts[string(p)] = c.verdict.Of(p).String()
		}
		v := value(j)
		if c.code != nagiosOK {
			v.exit = exitError(c.code)
		}
		return out(v)
	}
	cmd.Flags().BoolVar(&all, "all", false, "check every part, as without PART")
	return cmd
}

// checked is the result of a check.
type checked struct {
	context string
	verdict verdict.Verdict
	code    int
	line    string
}

// check is what judge finds of the context, or why it cannot be opened, or does not answer in time.
func check(ctx context.Context, r *root, parts []verdict.Part,
	judge func(context.Context, *app.App) (checked, error)) checked {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	opt := r.appOptions()
	done := make(chan checked, 1)
	go func() {
		var c checked
		err := r.with(ctx, "command", func(ctx context.Context, a *app.App) (err error) {
			c, err = judge(ctx, a)
			return err
		})
		if err != nil {
			c.verdict = app.Unopened(err, time.Now())
			c.code, c.line = checkLine(c.verdict, parts)
		}
		if unknown := unopened(r, err); unknown != "" {
			c.code, c.line = nagiosUnknown, unknown
		}
		c.context = r.chosen
		done <- c
	}()
	select {
	case c := <-done:
		return c
	case <-time.After(checkWithin + 500*time.Millisecond):
		name, late := app.Unanswered(opt)
		c := checked{context: name, verdict: late, code: nagiosUnknown, line: "The check did not end within " +
			format.Duration(checkWithin) + ": the shared store or its disk does not answer."}
		if _, wrong := late.First(); wrong {
			c.code, c.line = checkLine(late, parts)
		}
		return c
	}
}

// plugin answers as a plugin of a monitor: one line that begins with the chosen context, and its exit code.
func plugin(r *root, chosen, name string, code int, line string) error {
	if chosen != "" {
		line = chosen + ": " + line
	}
	if _, err := fmt.Fprintf(r.env.Out, "%s %s - %s\n", name, nagiosWords[code], oneLine(line)); err != nil {
		return err
	}
	if code == nagiosOK {
		return nil
	}
	return exitError(code)
}

// unopened is what is unknown, since the context could not be opened: a mistake in the config, and a user who may not
// use the state, say nothing about the service. "" where a finding about the service says why.
func unopened(r *root, err error) string {
	if err == nil {
		return ""
	}
	f, found := app.Unopened(err, time.Now()).First()
	switch {
	case !found || errors.Is(err, app.ErrUnconfigured):
		e := asError(r.asOwner(err))
		return strings.TrimSpace(e.Public + " " + remedy.Command(e))
	case f.Part == verdict.PartConfig:
		return f.Line()
	}
	return ""
}

func partNames() []string {
	var out []string
	for _, p := range verdict.Parts() {
		out = append(out, string(p))
	}
	return out
}

// checkedParts returns the parts to check; wrong says what is wrong with the arguments.
func checkedParts(all bool, args []string) (parts []verdict.Part, wrong string) {
	for _, name := range args {
		if !slices.Contains(partNames(), name) {
			return nil, "no such part: " + name + "; known are " + strings.Join(partNames(), ", ")
		}
		parts = append(parts, verdict.Part(name))
	}
	switch {
	case all && len(parts) > 0:
		return nil, "--all and parts cannot be combined"
	case len(parts) == 0:
		return verdict.Parts(), ""
	}
	return parts, ""
}

var nagiosCodes = map[verdict.State]int{verdict.Good: nagiosOK, verdict.Warned: nagiosWarning,
	verdict.Bad:     nagiosCritical,
	verdict.Unknown: nagiosUnknown}

// checkLine is the result for some parts: the first finding about one of them, and a count for each severity.
func checkLine(v verdict.Verdict, parts []verdict.Part) (code int, line string) {
	found := concerning(v, parts)
	state := v.StateOf(parts...)
	counts := [3]int{}
	for _, f := range found {
		counts[f.Severity]++
	}
	switch {
	case len(found) > 0:
		line = found[0].Line()
		if found[0].Severity == verdict.Critical {
			state = verdict.Bad
		}
	case state == verdict.Unknown:
		line = "Not known: " + strings.Join(inState(v, parts, verdict.Unknown), ", ") + "."
	default:
		line = "No fault known. Good: " + strings.Join(inState(v, parts, verdict.Good), ", ") + "."
		if unknown := inState(v, parts, verdict.Unknown); len(unknown) > 0 {
			line += " Not known: " + strings.Join(unknown, ", ") + "."
		}
	}
	line = strings.ReplaceAll(line, "|", "/") // after the first | there is data for programs
	return nagiosCodes[state], fmt.Sprintf("%s | critical=%d;;1;0 warning=%d;1;;0", line, counts[verdict.Critical],
		counts[verdict.Warning])
}

// concerning are the findings about some parts, and the critical ones that may be why a part is not known.
func concerning(v verdict.Verdict, parts []verdict.Part) []verdict.Finding {
	var found []verdict.Finding
	for _, f := range v.Findings {
		if slices.Contains(parts, f.Part) || slices.ContainsFunc(parts, func(p verdict.Part) bool {
			return v.Of(p) == verdict.Unknown && f.Severity == verdict.Critical
		}) {
			found = append(found, f)
		}
	}
	return found
}

// inState are those of some parts that are in a state, but for what the config switches off.
func inState(v verdict.Verdict, parts []verdict.Part, state verdict.State) []string {
	var out []string
	for _, p := range parts {
		if v.Of(p) == state && !v.Off(p) {
			out = append(out, string(p))
		}
	}
	return out
}

func doctorCommand(r *root) *cobra.Command {
	var login bool
	cmd := &cobra.Command{Long: "Checks config, name lookup, TLS, clock, store, session, budget, audit trail and " +
		"webhook feed: one line each, without secrets. Exit 1 when something is wrong. It sends one request without a " +
		"login, to read the service's clock. When there is a session, it also sends one general call, to see whether the " +
		"account has two-factor login on, and reads a page of operations, customers and accounts (a billing, a customer " +
		"and an account call): it says what of them it did not understand, with the key of [service] that decides it. " +
		"--login logs in when there is no session."}
	alone(r, cmd, func(ctx context.Context, _ []string) (record[doctorJSON], error) {
		return runDoctor(r, ctx, r.appOptions(), login)
	})
	cmd.Flags().BoolVar(&login, "login", false, "log in when there is no session")
	return cmd
}

// doctorJSON is the report of the doctor.
type doctorJSON struct {
	Findings []app.Finding `json:"findings"`
	OK       bool          `json:"ok"`
}

// runDoctor prints the findings to people as they come; exit 1 if something is wrong.
func runDoctor(r *root, ctx context.Context, opt app.Options, login bool) (out record[doctorJSON], err error) {
	if r.env.App != nil {
		ctx = api.WithActor(ctx, r.env.Actor)
	} else if err := app.Owned(opt); err != nil {
		return out, err
	}
	var found doctorJSON
	failed := ""
	found.OK = app.Doctor(ctx, opt, r.env.App, login, func(f app.Finding) {
		found.Findings = append(found.Findings, f)
		if r.output == "table" {
			fmt.Fprint(r.env.Out, findingLine(r, f))
		}
		if f.Health == app.Failed {
			failed += findingLine(r, f)
		}
	})
	out = value(found)
	if n := len(found.Findings); failed != "" && found.Findings[n-1].Health != app.Failed {
		out.lines = "\nFailed:\n" + failed // they may have left the screen
	}
	if !found.OK {
		out.exit = exitError(1)
	}
	return out, ctx.Err()
}

var healthSigns = map[app.Health]string{app.Healthy: "✓ ok     ", app.Warned: "! warning", app.Failed: "✗ failed ",
	app.Skipped: "– skipped"}

func findingLine(r *root, f app.Finding) string {
	line := f.Text
	if f.Hint != "" {
		line = strings.TrimRight(line, ".") + ". " + f.Hint
	}
	first := fmt.Sprintf("%s  %-11s  ", healthSigns[f.Health], f.Name)
	indent := draw.Width(first)
	return first + strings.ReplaceAll(wrapped(oneLine(line), r.env.OutWidth-indent), "\n", "\n"+draw.Space(indent)) + "\n"
}
