//go:build unix

package scenario

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/internal/e2e/lockedbuffer"
	"opdeck/internal/sandbox/faulty"
)

// experiment is how S41 runs. OPDECK_LEND_EXPERIMENT=LOOPS,CONSOLES,DURATION,TOKENLIFE
// sets it, and the budgets to what the service recommends.
type experiment struct {
	loops, consoles int
	length, life    time.Duration
	perMinute       map[limit.Class]int
}

// askEvery is how often one of the consoles calls: together they keep to the slots
// that background work leaves to people (4 of 12 in 62 s).
const askEvery = 16 * time.Second

func theExperiment(t testing.TB) experiment {
	t.Helper()
	spec := os.Getenv("OPDECK_LEND_EXPERIMENT")
	if spec == "" { // short: tokens live as short as the loops run, so renewals may be frequent
		per := limit.Recommended()
		per[limit.Login], per[limit.Refresh] = 500, 500
		return experiment{loops: 4, consoles: 2, length: 8 * time.Second, life: 5 * time.Second, perMinute: per}
	}
	f := strings.Split(spec, ",")
	if len(f) != 4 {
		t.Fatal("OPDECK_LEND_EXPERIMENT is LOOPS,CONSOLES,DURATION,TOKENLIFE, for example 32,8,10m,5m")
	}
	e := experiment{perMinute: limit.Recommended()}
	var errs [4]error
	e.loops, errs[0] = strconv.Atoi(f[0])
	e.consoles, errs[1] = strconv.Atoi(f[1])
	e.length, errs[2] = time.ParseDuration(f[2])
	e.life, errs[3] = time.ParseDuration(f[3])
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// The loops: shell and curl, as one writes them without a thought. The first logs in by
// itself, and again after each 401; the second asks opdeck. Both write a line for each
// answer, and what came with it to a file.
const (
	loopAlone = `login() { curl -s -m 20 -X POST -H 'Content-Type: application/json' -d "{\"login\":\"$LOGIN\",\"password\":\"$PASSWORD\"}" "$URL/v2/auth/login" |
  sed 's/.*"accessToken":"\([^"]*\)".*/\1/'; }
T=$(login)
while :; do
  S=$(curl -s -m 60 -o body -w '%{http_code}' -H "Authorization: Bearer $T" "$URL$CALL"); echo $S
  [ "$S" = 401 ] && T=$(login)
  sleep 1
done`
	loopLent = `while :; do
  curl -s -m 60 -D head -o body -w '%{http_code}\n' -H "X-Opdeck-Key: $OPDECK_PROXY_KEY" "$OPDECK_PROXY_URL$CALL"
  cat head body >> all
  sleep 1
done`
)

// loops are shells that run until stop, which says how often each status came.
func loops(t testing.TB, n int, script string, env func(i int) []string) (dirs []string, pids []int, stop func() map[string]int) {
	t.Helper()
	var outs []*lockedbuffer.Buffer
	var cmds []*exec.Cmd
	for i := range n {
		cmd, out := exec.Command("sh", "-c", script), &lockedbuffer.Buffer{}
		cmd.Dir, cmd.Stdout = t.TempDir(), out
		call := []string{"/v2/billing/operation?meta.pageSize=1", "/v2/customer?meta.pageSize=1", "/v2/billing/operation?meta.page=1&meta.pageSize=1"}[i%3]
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "CALL=" + call}, env(i)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its curl ends with it
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		end := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() }
		t.Cleanup(end)
		dirs, pids, outs, cmds = append(dirs, cmd.Dir), append(pids, cmd.Process.Pid), append(outs, out), append(cmds, cmd)
	}
	return dirs, pids, func() map[string]int {
		count := map[string]int{}
		for i, cmd := range cmds {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
			for status := range strings.FieldsSeq(outs[i].String()) {
				count[status]++
			}
		}
		return count
	}
}

// seenOfPeople is how long calls of consoles took.
type seenOfPeople []time.Duration

func (s seenOfPeople) slowest() time.Duration {
	if len(s) == 0 {
		return 0
	}
	return slices.Max(s)
}

// S41: naive loops and consoles share a session through the proxy; beside it the same
// loops log in by themselves. The table of docs/lending.md comes from here.
func TestS41LoopsAndConsoles(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	t.Parallel()
	try(t, loopsAndConsoles)
}

func loopsAndConsoles(t testing.TB) {
	e := theExperiment(t)
	opt := serviceOptions{Access: e.life, Refresh: 3 * e.life}
	began, aloneAt := time.Now(), newService(t, opt)
	_, _, stopAlone := loops(t, e.loops, loopAlone, func(int) []string {
		return []string{"URL=" + "http://" + aloneAt.addr, "LOGIN=" + account, "PASSWORD=" + password}
	})
	p, lentAt := newPlace(t, "SQLite"), newService(t, opt)
	ws := startMany(t, e.consoles, p, lentAt, func(w *workerSettings) { w.PerMinute = e.perMinute })
	x := newProxy(t, p, lentAt, e.loops, e.perMinute)
	dirs, pids, stopLent := loops(t, e.loops, loopLent, func(i int) []string {
		return []string{"OPDECK_PROXY_URL=" + x.url, "OPDECK_PROXY_KEY=" + loopKey(i)}
	})
	var people seenOfPeople
	every := min(askEvery, e.length/3)
	for i, end := 0, time.Now().Add(e.length); time.Now().Before(end); i++ {
		next := time.Now().Add(every)
		r := ws[i%len(ws)].do(order{Do: "calls"})
		noErrors(t, r.Calls)
		people = append(people, r.Calls.Took...)
		time.Sleep(max(0, min(time.Until(next), time.Until(end))))
	}
	for _, pid := range pids {
		for _, file := range []string{"environ", "cmdline"} {
			if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file)); err == nil {
				clean(t, file+" of a loop", text)
			}
		}
	}
	lent, alone, took := stopLent(), stopAlone(), time.Since(began)
	for _, dir := range append(dirs, x.dir) {
		if dir == x.dir {
			_ = os.Remove(filepath.Join(dir, "password")) // it is there by right
		}
		scan(t, dir)
	}
	table(t, e, alone, lent, aloneAt.stats(), lentAt.stats(), people)
	checkExperiment(t, e, took, lent, lentAt.stats(), people)
}

// checkExperiment holds what the experiment must show, which took longer than its length on a busy machine.
func checkExperiment(t testing.TB, e experiment, took time.Duration, lent map[string]int, st faulty.Stats, people seenOfPeople) {
	t.Helper()
	if st.Logins != 1 || lent["401"] != 0 || lent["200"] == 0 {
		t.Errorf("%d logins, %d × 401 at the loops, %d answers", st.Logins, lent["401"], lent["200"])
	}
	if most := int64(took/(e.life/2)) + 1; st.Refreshes > most {
		t.Errorf("%d refreshes, want at most %d", st.Refreshes, most)
	}
	for class, n := range st.MaxPerMinute {
		if allowed := e.perMinute[limit.Class(class)]; n > int64(allowed) {
			grave(t, "%d %s calls in a minute, recommended are %d", n, class, allowed)
		}
	}
	for status := range lent {
		if !slices.Contains([]string{"200", "429"}, status) {
			t.Errorf("the loops saw %d × %s", lent[status], status)
		}
	}
	if w := people.slowest(); w > pick(5*time.Second, 3*time.Second) { // a call that waits for its budget waits five
		t.Errorf("a person waited %s", w)
	}
}

// table prints what came out.
func table(t testing.TB, e experiment, alone, lent map[string]int, a, l faulty.Stats, people seenOfPeople) {
	t.Helper()
	var b strings.Builder
	row := func(what string, left, right any) { fmt.Fprintf(&b, "| %s | %v | %v |\n", what, left, right) }
	row(fmt.Sprintf("%d loops, %s, tokens live %s", e.loops, e.length, e.life), "each logs in by itself", "through opdeck")
	row("---", "---:", "---:")
	row("logins at the service", a.Logins+a.LoginsRefused, l.Logins+l.LoginsRefused)
	row("most logins in a minute (recommended: 6)", a.MaxPerMinute["login"], l.MaxPerMinute["login"])
	row("refreshes", a.Refreshes, l.Refreshes)
	row("401 at the loops", alone["401"], lent["401"])
	row("calls answered with 200", alone["200"], lent["200"])
	row("reported to come back later (429)", alone["429"], lent["429"])
	for _, class := range slices.Sorted(maps.Keys(l.MaxPerMinute)) {
		if c := limit.Class(class); c == limit.Billing || c == limit.Customer {
			row(fmt.Sprintf("most %s calls in a minute (recommended: %d)", class, e.perMinute[c]), a.MaxPerMinute[class], l.MaxPerMinute[class])
		}
	}
	row(fmt.Sprintf("slowest of %d calls by people at %d consoles", len(people), e.consoles), "–", people.slowest().Round(time.Millisecond))
	t.Logf("\n%s", b.String())
}
