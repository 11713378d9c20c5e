//go:build linux

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"opdeck/internal/domain/verdict"
)

// face is a surface of the program.
type face string

// The surfaces.
const (
	check         face = "check --all"
	sessionStatus face = "session status"
	sessionCheck  face = "session status --check"
	doctor        face = "doctor"
	failure       face = "the error of a command"
	healthz       face = "/healthz"
	metrics       face = "/metrics"
	plain         face = "plain mode"
	console       face = "console"
)

// clockTimes are the times of day and dates in a sentence.
var clockTimes = regexp.MustCompile(`(\d{4}-\d\d-\d\d )?\d\d:\d\d(:\d\d)? UTC`)

// sentence is a regular expression for the sentence of a finding as this machine says it.
func (i incident) sentence(s *scene, want verdict.Finding) *regexp.Regexp {
	place := s.where
	if place == "" {
		place = regexp.QuoteMeta(s.file("state/opdeck")) + `(-index)?\.db`
	}
	pairs := append(slices.Clone(i.as), "stage.example.com", `127\.0\.0\.1(:\d+)?`, "PostgreSQL at db:5432",
		"(PostgreSQL|SQLite) at "+place, "db:5432", place)
	text := regexp.QuoteMeta(want.Sentence)
	for n := 0; n < len(pairs); n += 2 {
		text = strings.ReplaceAll(text, regexp.QuoteMeta(pairs[n]), pairs[n+1])
	}
	text = clockTimes.ReplaceAllString(text, `(\d{4}-\d\d-\d\d )?\d\d:\d\d(:\d\d)? UTC`)
	return regexp.MustCompile(text + i.tail)
}

// of reports whether a surface speaks of a finding: some have a part of their own.
func (f face) of(want verdict.Finding) bool {
	stops := want.Severity == verdict.Critical
	switch f {
	case sessionStatus:
		return slices.Contains(verdict.SessionParts(), want.Part)
	case sessionCheck:
		return slices.Contains([]verdict.Part{verdict.PartConfig, verdict.PartService, verdict.PartSession}, want.Part) ||
			stops && want.Part == verdict.PartStore
	case failure:
		return stops && slices.Contains([]verdict.Part{verdict.PartConfig, verdict.PartStore, verdict.PartService,
			verdict.PartSession}, want.Part)
	}
	return true
}

// faces reads every surface and compares them with what opdeck check says, which it returns: the sentence, and what is
// wrong.
func (i incident) faces(s *scene, act *exec.Cmd, want verdict.Finding) (said string, wrong []string) {
	s.t.Helper()
	said, wrong = i.checkSays(s, want)
	fails := said
	if want.Part == verdict.PartConfig { // the error of a command is the mistake itself
		_, fails, _ = strings.Cut(strings.TrimSuffix(said, "."), "mistake: ")
	}
	reads := map[face]func() string{
		sessionStatus: func() string { return s.statusSays(fails) },
		sessionCheck:  func() string { return has(s.run("session", "status", "--check"), said, want.Next.Line()) },
		doctor:        func() string { return s.doctorSays(said, want) },
		failure:       func() string { return s.errorSays(act, fails) },
		healthz:       func() string { return s.healthzSays(want) },
		metrics:       func() string { return s.metricsSay(want) },
		plain:         func() string { return s.plainSays(said, want) },
		console:       func() string { return s.consoleSays(said, fails) },
	}
	turns := []face{sessionStatus, doctor, failure, plain, sessionCheck, metrics}
	maps.DeleteFunc(reads, func(f face, _ func() string) bool {
		other := !long() && slices.Contains(turns, f) && slices.Index(turns, f)%2 != i.turn%2
		return !f.of(want) || i.without[f] != "" || other
	})
	atOnce := 1
	if i.lasts > 0 || i.slow {
		atOnce = len(reads)
	}
	var mu sync.Mutex
	room, all := make(chan struct{}, atOnce), sync.WaitGroup{}
	for f, read := range reads {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			if got := read(); got != "" {
				mu.Lock()
				defer mu.Unlock()
				wrong = append(wrong, fmt.Sprintf("%s:\n  want %s\n  got  %s", f, said,
					strings.ReplaceAll(strings.TrimSpace(got), "\n", "\n       ")))
			}
		})
	}
	all.Wait()
	return said, wrong
}

// monitored is how long monitors wait for a check; it answers within eight seconds on a machine that does nothing else.
const monitored = 10 * time.Second

// checkSays returns the sentence of opdeck check, and what is wrong with it.
func (i incident) checkSays(s *scene, want verdict.Finding) (said string, wrong []string) {
	s.t.Helper()
	began := time.Now()
	checked := s.run("check", "--all")
	if took := time.Since(began); took > atMost(monitored) {
		wrong = append(wrong, fmt.Sprintf("%s takes %s", check, took))
	}
	re := i.sentence(s, want)
	_, line, _ := strings.Cut(checked.out, " - ")
	line = strings.TrimPrefix(line, "t: ") // the context comes first where the config can be read
	if at := re.FindStringIndex(line); at == nil || at[0] != 0 {
		wrong = append(wrong, fmt.Sprintf("%s: %q does not begin with %s%s", check, line, re, checked.err))
	}
	code := map[verdict.Severity]int{verdict.Critical: 2, verdict.Warning: 1}[want.Severity]
	if want.Cause == "config" { // nothing can be judged without one
		code = 3
	}
	if checked.code != code {
		wrong = append(wrong, fmt.Sprintf("%s ends with %d, not %d", check, checked.code, code))
	}
	if !strings.Contains(line, want.Next.Line()) || !strings.Contains(line, "Who can fix it: "+string(want.Who)) {
		wrong = append(wrong, fmt.Sprintf("%s: no next step %q, %q in %s", check, want.Next.Line(), want.Who, line))
	}
	return cmp.Or(re.FindString(line), line), wrong
}

// since is when the cause began that opdeck check names first; "" if it names another one.
func (s *scene) since(cause verdict.Cause) string {
	s.t.Helper()
	var is struct {
		Findings []struct{ Cause, Since string }
	}
	got := s.run("check", "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &is); err != nil {
		s.t.Fatal(err, got.out, got.err)
	}
	if len(is.Findings) == 0 || is.Findings[0].Cause != string(cause) {
		return ""
	}
	return is.Findings[0].Since
}

// has returns what was printed if it is not the sentence and the step.
func has(got ran, texts ...string) string {
	for _, text := range texts {
		if !strings.Contains(got.out+got.err, text) {
			return got.out + got.err
		}
	}
	return ""
}

func (s *scene) statusSays(said string) string {
	var is struct {
		Warning string
		Error   struct{ Message string }
	}
	got := s.run("session", "status", "-o", "json")
	_ = json.Unmarshal([]byte(cmp.Or(got.out, got.err)), &is)
	if is.Warning != said && !strings.HasPrefix(is.Error.Message, said) {
		return got.out + got.err
	}
	return ""
}

// doctorSays: the first line that is not good has the sentence and the next step, and no line calls the part good.
func (s *scene) doctorSays(said string, want verdict.Finding) string {
	var is struct {
		Findings []struct{ Name, State, Text, Hint string }
	}
	got := s.run("doctor", "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &is); err != nil {
		return fmt.Sprint(err, got.out, got.err)
	}
	if want.Severity == verdict.Critical && got.code != 1 {
		return fmt.Sprintf("exit code %d", got.code)
	}
	first := ""
	for _, f := range is.Findings {
		switch {
		case f.State == "ok" && f.Name == string(want.Part) && f.Name != "config": // that line is about the file
			return f.Name + " is ok: " + f.Text
		case first == "" && (f.State == "failed" || f.State == "warning"):
			first = f.Name + ": " + f.Text + " → " + f.Hint
		}
	}
	if _, text, _ := strings.Cut(first, ": "); !strings.HasPrefix(text, said) || !strings.Contains(text, strings.TrimSuffix(want.Next.Do, ".")) {
		return first
	}
	return ""
}

// errorSays waits for the command to say it, while it waits or at its end.
func (s *scene) errorSays(act *exec.Cmd, said string) string {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = act.Wait()
		used.add(act.ProcessState)
	}()
	is := func() bool { return strings.Contains(fmt.Sprint(act.Stderr), said) }
	over := func() bool {
		select {
		case <-ended:
			return true
		default:
			return is()
		}
	}
	s.until(patience, func() string { return fmt.Sprintf("the command says %s", act.Stderr) }, over)
	_ = act.Process.Signal(syscall.SIGINT)
	<-ended
	if is() {
		return ""
	}
	return fmt.Sprint(act.Stdout, act.Stderr)
}

func (s *scene) healthzSays(want verdict.Finding) string {
	if s.metrics == "" {
		return s.log.String()
	}
	status, body := s.get("/healthz")
	if body != want.Severity.String()+" "+string(want.Cause) || (status == 503) != (want.Severity == verdict.Critical) {
		return fmt.Sprint(status, " ", body)
	}
	return ""
}

func (s *scene) metricsSay(want verdict.Finding) string {
	if s.metrics == "" {
		return ""
	}
	_, body := s.get("/metrics")
	line := fmt.Sprintf(`opdeck_cause{cause=%q,follows="",part=%q,severity=%q} 1`, want.Cause, want.Part, want.Severity)
	if !strings.Contains(body, line) {
		return strings.Join(regexp.MustCompile(`opdeck_cause\{.*`).FindAllString(body, -1), "\n")
	}
	return ""
}

// plainSays: the news of plain mode, but for a budget, and the first line of its on-call page.
func (s *scene) plainSays(said string, want verdict.Finding) string {
	got := s.reads("12\nall\n", "--plain")
	if got.code != 0 && got.out == "" { // it does not open
		return has(got, said, strings.TrimSuffix(want.Next.Do, "."))
	}
	_, page, is := strings.Cut(got.out, "Attention. "+said)
	if want.Part == verdict.PartBudget {
		page, is = got.out, true
	}
	if !is || !strings.Contains(page, "\n"+said) || !strings.Contains(page, strings.TrimSuffix(want.Next.Do, ".")) {
		return got.out + got.err
	}
	return ""
}
