package session

// Verdict is what the detective says about the session's last trouble.
type Verdict struct {
	Sentence string
	Evidence []string
}

// Diagnose looks at the history.
func Diagnose(events []Event, row Row) Verdict { return Verdict{} }
