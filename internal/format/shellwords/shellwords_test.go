package shellwords

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAShellTakesThemAsTheyAre: once for the words of a command, twice for those of
// another machine's.
func TestAShellTakesThemAsTheyAre(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	run := func(line string) string {
		out, err := exec.Command(sh, "-c", line).Output()
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		return string(out)
	}
	for _, word := range []string{"", "plain-1.pdf", "two words", "it's", `"; rm -rf ~; "`, "$(id)", "`id`", "~", "*", "a\\b", "-x", "a\nb", "#a", "a!b", "請求書.pdf", `'"'"'`} {
		if got := run("printf %s " + Quote(word)); got != word {
			t.Errorf("%q became %q", word, got)
		}
		sent := strings.TrimSuffix(run("for w in "+Remote("printf", "%s", word)+`; do printf '%s ' "$w"; done`), " ")
		if got := run(sent); got != word {
			t.Errorf("%q is %q on the other side", word, got)
		}
	}
}
