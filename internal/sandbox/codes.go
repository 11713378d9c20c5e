package sandbox

import "slices"

// Names by numeric code, as in webhooks. The codes of operations are an assumption: the position in the documented
// lists.
var (
	operationStatuses = []string{"NOTSET", "PENDING", "PROCESSING", "SUCCESS", "FAILED", "CANCELED", "COMPLETED"}
	operationTypes    = []string{"NOTSET", "DEPOSIT", "TRANSFER", "WITHDRAW", "EXCHANGE"}
	paymentTypes      = []string{"EMPTY", "ACH", "FEDWIRE", "SWIFT", "CRYPTO", "EFT", "SEPA_CT", "IMPS"}

	customerStatuses     = []string{"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECT", "BANNED", "VERIFY"}
	accountStatuses      = []string{"NEW", "MODERATION", "MODERATED", "ACCEPTED", "REJECTED", "BANNED", "PROCESSING"}
	counterpartyStatuses = []string{"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECT", "BANNED", "PROGRESS"}
)

const (
	statusPending = iota + 1
	statusProcessing
	statusSuccess
	statusFailed
	statusCanceled
	statusCompleted
)

const (
	typeDeposit = iota + 1
	typeTransfer
	typeWithdraw
	typeExchange
)

const (
	payEmpty = iota
	payACH
	payFedwire
	paySwift
	payCrypto
	payEFT
	paySepa
	payIMPS
)

const (
	customerModeration = 1
	customerVerify     = 6
)

// ended reports whether an operation's documents may no longer be changed.
func ended(status int) bool { return status >= statusSuccess }

func nameOf(names []string, code int) string {
	if code >= 0 && code < len(names) {
		return names[code]
	}
	return names[0]
}

// codeOf returns the code of name, or -1.
func codeOf(names []string, name string) int { return slices.Index(names, name) }
