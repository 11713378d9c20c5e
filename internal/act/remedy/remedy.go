// Package remedy words what can be done about an error, for each surface in its own
// terms. The client and the domain say it as data (api.Remedy) and know neither
// commands nor keys.
package remedy

import (
	"cmp"
	"strings"
	"time"

	"opdeck/api"
)

// Command words e's remedy for the command line and for the hint in JSON, "" for none.
func Command(e *api.Error) string { return tell(e, sentences[e.Remedy.Kind].command) }

// Screen words it for the screens, which name no keys here: the status line does.
func Screen(e *api.Error) string {
	s := sentences[e.Remedy.Kind]
	return tell(e, cmp.Or(s.screen, s.command))
}

// Plain words it for the plain mode.
func Plain(e *api.Error) string {
	s := sentences[e.Remedy.Kind]
	return tell(e, cmp.Or(s.plain, s.screen, s.command))
}

// words are those of a remedy: for the command line, and where they differ for the
// screens and the line shell. {id} and {names} stand for the remedy's own.
type words struct{ command, screen, plain string }

const session = "opdeck session status tells why"

var sentences = map[api.RemedyKind]words{
	api.RecheckID: {command: "Check the id; it may belong to another account or context."},
	api.CopyID: {command: "Copy the id from the list or the answer that shows it.", screen: "Copy the id from the screen that shows it.",
		plain: "Copy the id from the place that says it."},
	api.Reload:      {command: "Reload the operation: its documents may have changed."},
	api.ReloadFiles: {command: "Read the customer's files again: they may have changed."},
	api.LookAgain:   {command: "Look at it again and decide anew."},
	api.History:     {command: "Its last known states are in its history: opdeck operation history {id}.", screen: "Its last known states are in its history."},
	api.AwaitSync:   {command: "The index still lists it; the next pass of the sync decides whether it is gone."},

	api.Force: {command: "--force lets the service itself decide.", screen: "Forcing it lets the service itself decide.",
		plain: "Ask again, to let the service itself decide."},
	api.CopyToken:    {command: "Copy it again from the verification provider."},
	api.CorrectToken: {command: "Nothing was changed; it can be tried again with a corrected token."},
	api.DiscardToken: {command: "Do not present this token again. A new one tells: the service answers 409 if the first was applied."},
	api.MakeAnother:  {command: "Make another one: a link that nobody saw lapses by itself."},
	api.MakeLink: {command: "Which document sets are outstanding was told in the answer to that share. " +
		"Where it was not seen, a link shows the customer what is missing."},
	api.UseLink:            {command: "Use the compliance link instead: the customer gives the documents there. If this is no such account, try again."},
	api.PrepareApplication: {command: "Share a token, set the application, or have the customer use the link first."},
	api.SayEach:            {command: "Say what each of them shall be, or ask who runs the service how they stand."},
	api.FollowOutcome: {command: "Do not repeat it yet: opdeck looks again by itself. opdeck audit unsettled follows it, --settle looks now.",
		screen: "Do not repeat it yet: opdeck looks again by itself, and the audit trail tells what became of it."},
	api.LookFirst:   {command: "It may still have been done: look at the object before it is repeated."},
	api.SmallerFile: {command: "PDF up to 10 MB, JPEG, PNG and Word up to 5 MB, text up to 1 MB."},

	api.AskRole:       {command: "Roles that do: {names}."},
	api.AskOperator:   {command: "Only the service's operator can change what the account may do."},
	api.LiftLock:      {command: "Locks are set by a compliance team; ask it to lift this one."},
	api.ReportRequest: {command: "Tell the request id to the operator of the service."},

	api.Login:         {command: session + "; opdeck session login makes a new one.", screen: session + "; a login makes a new one."},
	api.SessionStatus: {command: session + "."},
	api.FixCredentials: {command: "Correct the login or the password of the context, and see that two-factor authentication is off for the machine account; " +
		"opdeck session reset tries again with the same ones."},
	api.NoSecondFactor: {command: "Switch two-factor authentication off for the machine account, then opdeck session reset."},
	api.SeeLimits:      {command: "The service recommends a rate a minute for all consoles together; opdeck limits shows it."},
	api.WaitTogether:   {command: "All instances now wait as long as it asked for."},
	api.LendSession:    {command: "If it is a script, let it use this session instead of logging in: opdeck session exec starts it so, opdeck session proxy serves it."},
	api.TryLater:       {command: "Try again in a moment; tell the request id if it goes on."},
	api.CheckNetwork:   {command: "Is the network there? opdeck doctor looks at each step."},
	api.Doctor:         {command: "opdeck doctor looks at {id}."},

	api.LeaveReadOnly:  {command: "Writes need a context with read_only = false and no --read-only."},
	api.ChooseContext:  {command: "There are: {names}. --context chooses one."},
	api.CheckBaseURL:   {command: "Is base_url the address of the service, and not of a proxy or a web page?"},
	api.AskForLess:     {command: "Ask for less at a time ([service] list_page_size)."},
	api.NameListField:  {command: "Set [service] list_field to the name of the array that holds the list; opdeck doctor --deep tells what the service's answers hold."},
	api.CompareAnswers: {command: "opdeck doctor --deep tells how the service's answers differ from what is expected."},
	api.FixSettings:    {command: "See {names} of {id}."},
	api.OtherFile:      {command: "--log-file takes a regular file, or a name that is free."},
	api.CheckStore:     {command: "Look at the disk or the database of the store; reading goes on."},
	api.RestoreStore:   {command: "Stop every opdeck process. Then restore the file from a backup, or start without it, which costs one login."},
	api.NeedStore:      {command: "Without the shared store nothing is sent."},
	api.WaitingEvents:  {command: "It is tried again by the console and by opdeck serve; opdeck event list --waiting shows it."},
}

// tell fills a sentence in and puts what a surface said itself before it.
func tell(e *api.Error, sentence string) string {
	r := e.Remedy
	parts := []string{e.Hint}
	if r.Wait > 0 {
		parts = append(parts, "The next try is in "+max(r.Wait, time.Second).Round(time.Second).String()+", by whoever calls first.")
	}
	parts = append(parts, strings.NewReplacer("{id}", cmp.Or(r.ID, "each step"), "{names}", strings.Join(r.Names, ", ")).Replace(sentence))
	if e.Unsent {
		parts = append(parts, "Nothing was sent.")
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}
