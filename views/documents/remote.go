package documents

import (
	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/host/shellwords"
	"opdeck/ui"
	"opdeck/ui/draw"
)

// uploadOverSSH gives the commands in the place of a form: over SSH a file of the host
// would be the server's.
func (s *Screen) uploadOverSSH() ui.Action {
	upload := []string{"document", "upload", "-", "--customer", word(s.Op.Customer.CUID, "CUSTOMER"), "--name", "NAME", "--type", "TYPE", "--yes"}
	return s.overSSH("Upload a file of yours", s.remote(upload...)+" < FILE",
		"It prints the id of the uploaded document. "+s.keys.Attach.Help().Key+" attaches it here by that id, and so does:",
		s.remote("document", "attach", word(untrusted.Text(s.ID), "OPID"), "DOCID", "--yes"))
}

// replaceOverSSH is the same for a replacement.
func (s *Screen) replaceOverSSH(d api.Document) ui.Action {
	line := s.remote("document", "replace", word(untrusted.Text(s.ID), "OPID"), word(d.GUID, "DOCID"), "-", "--name", word(d.FileName, "NAME"), "--yes") + " < FILE"
	return s.overSSH("Replace by a file of yours", line, "Type and info stay those of "+d.FileName.Line(60)+"; --type and --info say otherwise.")
}

// overSSH shows a command that a key copies.
func (s *Screen) overSSH(title, line string, more ...string) ui.Action {
	return ui.Explain{Title: title, Copy: &ui.Copy{Text: line, What: "the command"},
		Lines: append([]string{"Files here would be the server's, not yours. Run this on your own machine; words in capitals are yours to fill in:", "", line, "",
			"The host is the address that this server sees; use the name that you know it by."}, more...)}
}

// remote writes a command line for the person's own shell.
func (s *Screen) remote(words ...string) string {
	return s.env.About.Remote + " " + shellwords.Remote(words...)
}

// word is a text of the service as a word of a command; unknown stands for one that is
// missing, odd or too long, as a terminal would take its characters for keys.
func word(u untrusted.Text, unknown string) string {
	if s, ok := takeOver(u, 200); ok && s != "" && !u.Flags().Suspicious() && draw.Width(s) > 0 {
		return s
	}
	return unknown
}
