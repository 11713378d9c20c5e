package api

import "time"

// Remedy says what can be done about an error, as data. Package internal/act/remedy words it for each surface.
type Remedy struct {
	Kind  RemedyKind
	ID    string        // id of the object concerned
	Names []string      // to choose from or to look at: roles, contexts, settings
	Wait  time.Duration // until a retry makes sense; 0: at once
	Who   string        // NextStep: who can do it
}

// RemedyKind names a remedy.
type RemedyKind string

// The remedies.
const (
	NoRemedy RemedyKind = ""

	// Ids and what is shown.
	RecheckID   RemedyKind = "check_id"     // it may belong to another account or context
	CopyID      RemedyKind = "copy_id"      // it was mistyped
	Reload      RemedyKind = "reload"       // the documents may have changed
	ReloadFiles RemedyKind = "reload_files" // the customer's files may have changed
	LookAgain   RemedyKind = "look_again"   // and decide again
	History     RemedyKind = "history"      // holds the last states of the operation ID
	AwaitSync   RemedyKind = "await_sync"   // it decides whether the operation is gone

	// Writes.
	Force              RemedyKind = "force"          // lets the service decide
	CopyToken          RemedyKind = "copy_token"     // from the provider, once more
	CorrectToken       RemedyKind = "correct_token"  // and share again: nothing was changed
	DiscardToken       RemedyKind = "discard_token"  // a new one shows the outcome
	MakeAnother        RemedyKind = "make_another"   // an unseen link expires
	MakeLink           RemedyKind = "make_link"      // it shows the customer what is missing
	UseLink            RemedyKind = "use_link"       // instead of a share
	PrepareApplication RemedyKind = "prepare"        // there is none to submit
	FollowOutcome      RemedyKind = "follow_outcome" // do not repeat yet
	AwaitApproval      RemedyKind = "await_approval" // wait for the request ID, then repeat the act
	LookFirst          RemedyKind = "look_first"     // it may have been done
	SmallerFile        RemedyKind = "smaller_file"   // or one of another kind
	SayEach            RemedyKind = "say_each"       // give each setting that was not reported
	ReadWhole          RemedyKind = "read_whole"     // what was read masked is not sent back

	// Other people.
	AskRole     RemedyKind = "ask_role" // one of the roles in Names may do it
	AskOperator RemedyKind = "ask_operator"
	LiftLock    RemedyKind = "lift_lock" // a compliance team can
	// ReportRequest: the request's id helps the service's operator.
	ReportRequest RemedyKind = "report_request"

	// Session, budgets, network.
	Login          RemedyKind = "login"
	SessionStatus  RemedyKind = "session_status"
	FixCredentials RemedyKind = "fix_credentials"
	NoSecondFactor RemedyKind = "no_second_factor" // for the machine account
	SeeLimits      RemedyKind = "see_limits"
	WaitTogether   RemedyKind = "wait_together" // all instances wait
	LendSession    RemedyKind = "lend_session"  // to the script that logs in by itself
	TryLater       RemedyKind = "try_later"
	TryAfter       RemedyKind = "try_after" // the time that the service asked for
	CheckNetwork   RemedyKind = "check_network"
	NextStep       RemedyKind = "next_step" // of the verdict: Names is the sentence, ID the command
	Doctor         RemedyKind = "doctor"    // looks at each step, or at ID

	// Config and host.
	LeaveReadOnly  RemedyKind = "leave_read_only"
	ChooseContext  RemedyKind = "choose_context" // one of Names
	CheckBaseURL   RemedyKind = "check_base_url"
	AskForLess     RemedyKind = "ask_for_less" // in one call
	NameListField  RemedyKind = "name_list_field"
	CompareAnswers RemedyKind = "compare_answers" // of the service with what is expected
	FixSettings    RemedyKind = "fix_settings"    // Names, in the part ID of the config
	OtherFile      RemedyKind = "other_file"      // for the log
	CheckStore     RemedyKind = "check_store"     // its disk or database
	RestoreStore   RemedyKind = "restore_store"   // its file was deleted or replaced
	WaitingEvents  RemedyKind = "waiting_events"  // are tried again
)
