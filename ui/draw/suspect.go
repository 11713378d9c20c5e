package draw

import "opdeck/api/untrusted"

// SuspiciousText says what is odd about a text from outside and shows it exactly:
// `hidden characters: "invoice_\u202efdp.exe"`. It is "" for ordinary text.
func SuspiciousText(u untrusted.Text) string {
	f := u.Flags()
	if !f.Suspicious() {
		return ""
	}
	return f.Words() + ": " + Cut(u.Quoted(), 400)
}
