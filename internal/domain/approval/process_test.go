package approval_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

const raceURL = "OPDECK_APPROVAL_RACE"

// TestProcessesRaceToSpend starts this test again as several processes, which
// all repeat the act as soon as they are let go.
func TestProcessesRaceToSpend(t *testing.T) {
	if url := os.Getenv(raceURL); url != "" {
		spend(t, url)
		return
	}
	url := storetest.URL(t, store.SQLite)
	st := journal.NewApprovals(storetest.OpenURL(t, url).Core)
	f := &fixture{trail: &trail{}, now: time.Now().UTC(), open: func() approval.Store { return st }}
	f.Service = f.service(service, account)
	r := f.filed(t, ana, act)
	if _, err := f.Approve(as(bo), r.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	var release []func()
	var waits []func() string
	for range 3 {
		free, wait := start(t, url)
		release, waits = append(release, free), append(waits, wait)
	}
	for _, free := range release {
		free()
	}
	for _, wait := range waits {
		all.WriteString(wait())
	}
	if won, lost := strings.Count(all.String(), "spent "+r.ID), strings.Count(all.String(), "refused approval_pending"); won != 1 || lost != 2 {
		t.Errorf("spent %d times, refused %d times:\n%s", won, lost, all.String())
	}
}

// start runs a process and returns when it is ready: free lets it go, wait
// returns its output at its end.
func start(t *testing.T, url string) (free func(), wait func() string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestProcessesRaceToSpend$")
	child.Env = append(os.Environ(), raceURL+"="+url)
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
	}
	return func() { _, _ = fmt.Fprintln(in) }, func() string {
		var all strings.Builder
		for lines.Scan() {
			fmt.Fprintln(&all, lines.Text())
		}
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
		return all.String()
	}
}

// spend is a child: it says that it is ready, waits, and repeats the act.
func spend(t *testing.T, url string) {
	s, err := store.Open(context.Background(), store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	svc := approval.New(journal.NewApprovals(s.Core), &trail{}, service, account, nil)
	svc.SetRoleLookup((&fixture{}).standing)
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	id, err := svc.Check(as(ana), ana, act)
	if err != nil {
		fmt.Println("refused", api.AsError(err).Rule)
		return
	}
	fmt.Println("spent", id)
}
