//go:build linux

package e2e

import (
	"bufio"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"opdeck/internal/sandbox"
)

// wrapped has each answer of the journey under a name of its own.
const wrapped = "under=application:item,under=share:item,under=link:data,under=finalize:item,under=customer-get:data"

// journeyShapes are services that answer otherwise where their documents say
// nothing; with each the journey of a customer works. Every form of a list and a record, and flags and numbers of another
// type, which are not known: package endpoint.
var journeyShapes = []string{
	"", // the service as it is
	"shape=api:numbers-as-text", "shape=api:empty-as-null", "shape=api:empty-left-out",
	wrapped, "lift=customer-get:item", "without=customers:total,fixed=customers:5",
	"status=customer-get:404/no-route", "status=customer-get:500", "variant=customer-by-post",
	"status=application:404/unconfigured", "status=application:500", "variant=hidden-application", "variant=share-apart", "without=application:status",
	"variant=customer-by-post,variant=hidden-application,variant=share-apart",
	"status=customers:404/no-route,status=customer-get:404/no-route,variant=hidden-application", // nothing can be read
	"mime=api:text/plain", "mime=api:none", "style=api:success", "refusal=*:200/own", "shape=*:numbers-as-text",
}

// plainShapes are those that are tried in the plain mode, which waits for a person.
var plainShapes = []string{
	"shape=api:numbers-as-text,mime=api:text/plain,style=api:success", wrapped,
	"status=customers:404/no-route,status=customer-get:404/no-route,variant=hidden-application,variant=share-apart",
}

// screenShapes are those of which the Compliance screen knows most.
var screenShapes = []string{
	"variant=customer-by-post,variant=share-apart,variant=hidden-application",
	"status=customer-get:404/no-route,status=application:500",
}

// journeyOf is a customer that can be shared, before the faults begin.
func journeyOf(t *testing.T, spec string) (w *world, cuid, token string) {
	t.Helper()
	w = newWorld(t, sandbox.Options{Operations: 40}, "")
	list, err := w.service.Unshared(t.Context(), "INDIVIDUAL")
	if err != nil {
		t.Fatal(err)
	}
	cuid, token = list[0], "demo-individual-outstanding-1"
	w.write("token", token+"\n")
	w.faults(spec)
	return w, cuid, token
}

// journeyDone checks that the service did each step once.
func (w *world) journeyDone() {
	w.t.Helper()
	st := w.stats()
	for name, calls := range map[string]int64{"share": st.Done["share"], "link": st.Calls["link"], "finalize": st.Done["finalize"]} {
		if calls != 1 || st.Calls[name] != 1 {
			w.t.Errorf("%s was sent %d times and done %d times", name, st.Calls[name], calls)
		}
	}
}

// TestJourneyByCommand: share, link, finalize with each shape.
func TestJourneyByCommand(t *testing.T) {
	t.Parallel()
	for _, spec := range journeyShapes {
		t.Run(strings.NewReplacer("/", " ", "=", " ").Replace(spec), func(t *testing.T) {
			t.Parallel()
			w, cuid, token := journeyOf(t, spec)
			out := w.command("compliance", "share", cuid, "--token-file", "token", "--yes", "-o", "json")
			if !strings.Contains(out, "PROOF_OF_RESIDENCE") || strings.Contains(out, token) {
				t.Errorf("share: %s", out)
			}
			if out = w.command("compliance", "link", cuid, "--yes"); !strings.Contains(out, "http://") {
				t.Errorf("link: %s", out)
			}
			w.command("compliance", "finalize", cuid, "--yes")
			w.journeyDone()
			w.command("compliance", "journey", cuid)
		})
	}
}

// TestJourneyPlain: the same in the plain mode.
func TestJourneyPlain(t *testing.T) {
	t.Parallel()
	for _, spec := range plainShapes {
		t.Run(strings.NewReplacer("/", " ", "=", " ").Replace(spec), func(t *testing.T) {
			t.Parallel()
			w, cuid, token := journeyOf(t, spec)
			p := w.plainMode()
			p.says("compliance "+cuid, `(?s)Verification.*`+menu)
			p.says("share", `File with the token`)
			p.says(w.home+"/token", `Type yes`)
			p.says("yes", `(?s)Applied.*`+menu)
			p.says("link", `Type yes`)
			p.says("yes", `(?s)http://.*`+menu)
			p.says("finalize", `Type yes`)
			p.says("yes", `(?s)Finalized.*`+menu)
			p.leave()
			if strings.Contains(p.all, token) {
				t.Error("the token was said")
			}
			w.journeyDone()
		})
	}
}

// TestJourneyOnScreen: the same on the Compliance screen.
func TestJourneyOnScreen(t *testing.T) {
	t.Parallel()
	for _, spec := range screenShapes {
		t.Run(strings.NewReplacer("/", " ", "=", " ").Replace(spec), func(t *testing.T) {
			t.Parallel()
			w, cuid, token := journeyOf(t, spec)
			x := w.console(100, 30)
			x.press("/").shows("status:PENDING amount").types("customer:" + cuid).shows(cuid).press(enter).shows(" match").gone("loading")
			x.press("4").shows("Verification", cuid)
			x.press("S").shows("Apply share token").types(token).press(enter)
			x.armed("Apply this share token to", cuid).press("y").shows("Next: Create a link (l)")
			x.press("l").armed("Create a verification link for").press("y").shows("clipboard.")
			x.press("f").armed("Submit the application").press("y").gone("cannot withdraw").matches(`Finalized|outcome`)
			x.quit()
			w.journeyDone()
		})
	}
}

// plainMode is the program in the plain mode (--plain).
type plainMode struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	last  string // what the last answer was
	all   string
}

func (w *world) plainMode() *plainMode {
	w.t.Helper()
	cmd := exec.Command(binary, "--plain", "-c", "all")
	cmd.Env = append([]string{"HOME=" + w.home, "PW=sandbox", "TZ=UTC"}, w.env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = cmd.Stdout
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	p := &plainMode{t: w.t, cmd: cmd, in: in, lines: make(chan string, 10_000)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	w.t.Cleanup(func() {
		_ = in.Close()
		<-read
		_ = cmd.Wait()
	})
	p.until(menu)
	return p
}

// menu is what is said when a line is waited for.
const menu = `A (number, a )?command, or \? for help`

// says types a line and waits for an answer that matches.
func (p *plainMode) says(line, re string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
	p.until(re)
}

func (p *plainMode) until(re string) {
	p.t.Helper()
	want, end := regexp.MustCompile(re), time.After(patience)
	p.last = ""
	for {
		select {
		case line, open := <-p.lines:
			p.last += line + "\n"
			p.all += line + "\n"
			if want.MatchString(p.last) {
				return
			}
			if regexp.MustCompile(menu).MatchString(p.last) {
				p.t.Fatalf("it answered something other than %s:\n%s", re, p.last)
			}
			if !open {
				p.t.Fatalf("it ended before it said %s:\n%s", re, p.all)
			}
		case <-end:
			p.t.Fatalf("it never said %s, but\n%s", re, p.all)
		}
	}
}

func (p *plainMode) leave() {
	_ = p.in.Close()
	for line := range p.lines {
		p.all += line + "\n"
	}
}
