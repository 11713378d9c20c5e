//go:build linux

package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"opdeck/internal/sandbox"
)

// TestALivePageSaysWhatItsFilterCannotJudge: rows of a page of the service without what the filter asks for match
// nothing and are counted.
func TestALivePageSaysWhatItsFilterCannotJudge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	w.faults("without=list:isVisible,without=list:isParent,without=list:documents")
	for filter, name := range map[string]string{"has:visible": "visible", "has:hidden": "visible", "has:parent": "parent",
		"documents>0": "documents", "has:locked": "lock"} {
		cmd := exec.Command(binary, "operation", "list", "--live", "--limit", "5", "--filter", filter, "-o", "json", "-c", "all")
		cmd.Dir = w.home
		cmd.Env = append([]string{"HOME=" + w.home, "PW=sandbox"}, w.env...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		want := "5 operations on this page have no value for " + name + ", so it is not known whether they match."
		if err != nil || !strings.Contains(errs.String(), want) || !strings.Contains(out.String(), `"items": []`) {
			t.Errorf("%s: %v\n%s%s", filter, err, errs.String(), out.String())
		}
	}
}

// TestALivePageHasTheLimit: a service that sends more rows than were asked for, and no total, gives at most the limit,
// which is not called all.
func TestALivePageHasTheLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	w.faults("fixed=list:50,without=list:total")
	var list struct {
		Items    []struct{ OPID string }
		Total    *int
		Complete bool
	}
	out := w.command("operation", "list", "--live", "--limit", "2", "-o", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Items) != 2 || list.Total != nil || list.Complete {
		t.Errorf("%v\n%s", err, out)
	}
}
