//go:build linux

package e2e

import (
	"regexp"
	"testing"

	"opdeck/internal/sandbox"
)

// TestAChildLeadsToItsParent on the screen, in lines and by the command, where the
// service's answer for a child says what spawned it.
func TestAChildLeadsToItsParent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	list := w.operations() // the 23rd spawned the two after it
	parent, child := list[22].Opid, list[23].Opid
	w.faults("variant=whole-tree")
	out := w.command("operation", "tree", child)
	if !regexp.MustCompile(parent + ` .* -1\n` + child + ` .* 0\n$`).MatchString(out) {
		t.Errorf("the command says\n%s", out)
	}
	p := w.plainMode()
	p.says("open "+child, `(?s)Operation `+child+`.*`+menu)
	p.says("tree", `(?s)Parent\.\n\d+\. .*EXCHANGE.*`+parent+`.*`+menu)
	p.leave()
	x := w.console(120, 40)
	x.press("/").types("id:"+child).press(enter).shows("1 of 1").press(enter).shows(child, "▌ id")
	x.press("H").shows("Parent", "▌ ").press(enter).shows("Operation "+parent[:6], "yes (H shows them)")
	x.quit()
}
