package documents

import (
	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/ui"
	"opdeck/ui/draw"
)

// uploadOverSSH gives the commands in the place of a form: over SSH a file of the host
// would be the server's.
func (s *changes) uploadOverSSH() ui.Action {
	upload := []string{"document", "upload", "-", "--customer", word(s.latest.Op.Customer.CUID, "CUSTOMER"),
		"--name", "NAME", "--type", "TYPE", "--yes"}
	return s.env.OverSSH("Upload a file from your machine", s.env.RemoteCommand(upload...)+" < FILE",
		"The command prints the id of the uploaded file. "+s.env.Way(s.env.Keys.Documents.Attach)+
			" attaches it here by that id, or run:",
		s.env.RemoteCommand("document", "attach", word(untrusted.Text(s.latest.ID), "OPID"), "DOCID", "--yes"))
}

// replaceOverSSH is the same for a replacement.
func (s *changes) replaceOverSSH(d api.Document) ui.Action {
	line := s.env.RemoteCommand("document", "replace", word(untrusted.Text(s.latest.ID), "OPID"),
		word(d.GUID, "DOCID"), "-", "--name", word(d.FileName, "NAME"), "--yes") + " < FILE"
	return s.env.OverSSH("Replace with a file from your machine", line,
		"Type and description are copied from "+d.FileName.Line(60)+
			"; change them with --type and --info.")
}

// word returns a text of the service as a word of a shell command. It returns unknown for a text that is
// missing, unsafe or too long, because a terminal could take its characters for keys.
func word(u untrusted.Text, unknown string) string {
	if s, ok := takeOver(u, 200); ok && s != "" && !u.Flags().Suspicious() && draw.Width(s) > 0 {
		return s
	}
	return unknown
}
