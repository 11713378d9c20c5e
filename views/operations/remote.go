package operations

import (
	"strings"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/format"
	"opdeck/ui"
)

const mostNamed = 20 // marked operations that a command line names

// exportOverSSH gives the command in the place of the form: over SSH a file of the host
// would be the server's.
func (s jobs) exportOverSSH(of sheet) ui.Action {
	if of.marked > mostNamed {
		return ui.Notify{Level: ui.Warning, Text: "Over SSH an export is a command; " + format.Count(of.marked) +
			" marked operations are too many for one command. Mark at most " +
			format.Count(mostNamed) + ", or clear the marks and filter the list."}
	}
	line := []string{"operation", "export", "-"}
	if of.Totals {
		line = []string{"operation", "totals", "--by", strings.Join(words(of.By), ",")}
	}
	if f := of.Filter.String(); untrusted.Text(f).Flags().Suspicious() {
		line = append(line, "--filter", "FILTER")
	} else if f != "" {
		line = append(line, "--filter", f)
	}
	if !of.Totals {
		line = append(line, "--sort", of.Sort.String())
	}
	return s.env.OverSSH("Export "+of.what, s.env.RemoteCommand(append(line, "-o", string(index.CSV))...)+" > FILE",
		"-o jsonl writes JSON lines instead.")
}
