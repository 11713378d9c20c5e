package session

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"opdeck/api/jsontree"
	"opdeck/api/redact"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// The service's documents give no status with their error texts, so the words count as much as the status. Unknown
// words leave it to the status alone.

// errorAnswer is the content of an answer without tokens.
type errorAnswer struct {
	texts   []string // its sentences and codes in capitals, as plain lower-case words
	quote   string   // the first sentence, unchanged, for people
	code    bool     // it requires the login's field "code", or says that two-factor is on
	object  bool     // it is a JSON object
	isData  bool     // it holds something other than an error
	success bool     // it reports success
}

// errorKeys are the usual members of error answers.
var errorKeys = []string{"error", "errors", "message", "messages", "msg", "detail", "details", "description",
	"errordescription", "reason", "title", "code", "errorcode", "errorkey", "status", "statuscode", "success", "ok",
	"type", "path", "timestamp", "requestid",
	"traceid", "field", "fault", "result", "exception"}

// wordKeys are those that hold sentences or codes.
var wordKeys = []string{"error", "errors", "message", "messages", "msg", "detail", "details", "description",
	"errordescription", "reason", "title", "code", "errorcode", "errorkey", "fault", "exception", "field", "status"}

// parseErrorAnswer parses an error answer: JSON of any usual shape, or a short plain text.
func parseErrorAnswer(raw []byte) errorAnswer {
	var s errorAnswer
	tree, err := jsontree.Parse(raw[:min(len(raw), maxAnswer)])
	if err != nil {
		if line := strings.TrimSpace(string(raw)); len(line) <= 200 && !strings.Contains(line, "<") {
			s.add(line)
		}
		return s
	}
	v := tree.Root()
	if v.Kind() == jsontree.String {
		s.add(v.Text())
		return s
	}
	s.object = v.Kind() == jsontree.Object
	s.walk(v, 0)
	return s
}

// plainKey normalises a member's name.
func plainKey(k string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(k))
}

func (s *errorAnswer) walk(v jsontree.Value, depth int) {
	if depth > 4 {
		return
	}
	switch v.Kind() {
	case jsontree.Object:
		for _, m := range v.Sorted() {
			plain := plainKey(m.Name)
			if depth == 0 && !slices.Contains(errorKeys, plain) {
				s.isData = true
			}
			s.demand(plain, m.Value)
			if depth > 0 || slices.Contains(wordKeys, plain) {
				s.walk(m.Value, depth+1)
			}
		}
	case jsontree.Array:
		for _, e := range v.Members() {
			s.walk(e, depth+1)
		}
	case jsontree.String:
		s.add(v.Text())
	}
}

var codeKey = regexp.MustCompile(`2fa|twofactor|secondfactor|totp|^otp|otp(required|needed)|mfa`)

// demand detects members that mean that a code is required: {"is2fa": true}, {"code": ["required"]}, {"field":
// "code"}.
func (s *errorAnswer) demand(key string, v jsontree.Value) {
	word, _ := v.Scalar()
	word = strings.ToLower(word)
	switch v.Kind() {
	case jsontree.Word:
		s.code = s.code || word == "true" && codeKey.MatchString(key)
		s.success = s.success || word == "true" && (key == "success" || key == "ok")
	case jsontree.Array:
		s.code = s.code || v.Len() > 0 && (key == "code" || codeKey.MatchString(key))
	case jsontree.Object:
		s.code = s.code || v.Len() > 0 && key == "code"
	case jsontree.String:
		s.code = s.code || (key == "field" || key == "param" || key == "property") && word == "code" ||
			key == "code" && codeWanted.MatchString("code "+word)
	}
}

func (s *errorAnswer) add(line string) {
	line = strings.TrimSpace(line)
	if line == "" || len(line) > 400 {
		return
	}
	if s.quote == "" || !strings.Contains(s.quote, " ") && strings.Contains(line, " ") { // prefer a sentence to a code
		s.quote = line
	}
	s.texts = append(s.texts, strings.Join(strings.Fields(strings.NewReplacer("_", " ", "-", " ", ".", " ", ",", " ", ":",
		" ", "!", " ", "'", "", "’", "").Replace(strings.ToLower(line))), " "))
}

func (s errorAnswer) matches(re *regexp.Regexp) bool {
	return slices.ContainsFunc(s.texts, re.MatchString)
}

// maxQuote bounds the service's words that are kept, in characters.
const maxQuote = 160

var longWord = regexp.MustCompile(`\S{40,}`)

// words is the quote, safe to draw and to store: masked, without anything like a token, and without hide.
func (s errorAnswer) words(hide string) string {
	quote := []byte(s.quote)
	secret.Find(secret.New(hide)).Hide(quote)
	q := longWord.ReplaceAllString(string(quote), "…")
	if hide != "" {
		q = strings.ReplaceAll(q, hide, "…")
	}
	return untrusted.Text(redact.Said(q)).Line(maxQuote)
}

// Words, all in lower case and without punctuation.
var (
	// otherToken matches tokens other than the session's.
	otherToken = regexp.MustCompile(
		`\b(share|sharing|verification|kyc|kyb|sumsub|csrf|xsrf|recovery|reset|webhook|hook|push|device|document|` +
			`upload|idempotency|invite|invitation|sdk) (token|link|code|session)\b`)

	// deadSession matches words that can only mean the session.
	deadSession = regexp.MustCompile(
		`^(error )?(401 )?(unauthori[sz]ed|unauthenticated|not authenticated|not authori[sz]ed)( request)?$|` +
			`\b(log|sign) ?in again\b|\bplease (log|sign) ?in\b|\b(re ?login|re ?authenticate)\b|\bnot logged in\b|` +
			`\bunauthenticated\b|` +
			`\b(session|login) (is |has |was |has been )?(expired|ended|closed|revoked|terminated|invalidated|invalid|` +
			`over|not found)\b|\b(invalid|expired|no active) session\b|` +
			`\b(access|bearer|auth|authentication|authorization|session) token (is |was |has |has been )?(invalid|` +
			`expired|revoked|missing|required|unknown|not valid|blacklisted|not found)\b|` +
			`\b(invalid|expired|revoked|missing|unknown|no|bad)( or (expired|invalid|missing|revoked))? (access|` +
			`bearer|auth|authentication|authorization|session) (token|header)\b|` +
			`\bauthentication (is )?(required|expired|failed)\b|\bauthorization (header )?(is )?(required|missing)\b|` +
			`\bfull authentication is required\b`)

	// deadToken matches words for an expired or revoked token; in a request without another token it is the
	// session's.
	deadToken = regexp.MustCompile(
		`\b(token|jwt)( signature)? (is |was |has |has been |is not |not )?(revoked|expired|invalid|invalidated|` +
			`malformed|blacklisted|inactive|no longer valid|not valid|valid yet|active|over|unknown|not found)\b|` +
			`\b(invalid|expired|revoked|malformed|unknown|inactive|bad)( or (expired|invalid|revoked|` +
			`malformed))? (refresh )?(token|jwt)\b`)

	codeWanted = regexp.MustCompile(
		`\b(t?otp|2fa|mfa|is2fa)\b|\b(two|second|2) ?(factor|step)\b|\bone ?time ?(code|password|passcode|pin)\b|` +
			`\bauthenticator\b|` +
			`\b(verification|confirmation|security|authentication|auth|sms|login|access) (code|pin)\b|` +
			`\bcode( field)? (is |was |has |must |should |not |cannot )?(be )?(required|missing|invalid|incorrect|` +
			`wrong|expired|needed|empty|blank|not valid|blank|provided|mismatch)\b|` +
			`\b(invalid|incorrect|wrong|missing|expired|empty|bad|enter|provide|requires?|no)( the| a| your)? (code|` +
			`passcode)\b|\b(or|and)( the| a| your)? code\b`)

	passwordWrong = regexp.MustCompile(
		`\b(login|user ?name|password|credentials?)\b.{0,40}\b(incorrect|wrong|invalid|mismatch|not match|` +
			`not recogni[sz]ed|rejected)\b|\b(incorrect|wrong|invalid)\b.{0,30}\b(login|user ?name|password|` +
			`credentials?)\b|` +
			`\b(invalid|incorrect|wrong|bad|unknown|mismatched)( the| your)? (login|log in|user ?name|user|password|` +
			`pass|passwd|credentials?|e ?mail|account)\b|` +
			`\b(login|log in|user ?name|user|e ?mail|password|passwd|credentials?|account)( or | and |\/)?(login|` +
			`password|credentials?)? ?(is |are |was |were |has |have |has been |does |do |did |must |` +
			`must be )?(not )?(invalid|incorrect|wrong|unknown|found|exists?|match|valid|expired|changed|recogni[sz]ed|` +
			`blocked|locked|disabled|inactive|suspended|deleted|deactivated|rejected|refused)\b|` +
			`\b(login|authentication|sign ?in) (failed|failure|denied|refused|rejected)\b|` +
			`\bno such (user|account|login)\b|\btoo many (failed|wrong|invalid)\b`)
)

// Dead reports whether an answer says that the session's token is dead: by status 401, or by its words at another
// status. Such a call was not processed. For a request with a token of its own (ownToken), as a share, only words
// that can only mean the session count. An answer with data is never one, nor is what gateways send themselves (408,
// 429, 502, 503, 504).
func Dead(status int, body []byte, ownToken bool) bool {
	switch status {
	case http.StatusUnauthorized:
		return true
	case 0, http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return false
	}
	if status >= 300 && status < 400 || len(body) > maxAnswer {
		return false
	}
	s := parseErrorAnswer(body)
	if status < 300 && (!s.object || s.isData || s.success) {
		return false
	}
	for _, line := range s.texts {
		switch {
		case otherToken.MatchString(line):
		case deadSession.MatchString(line), !ownToken && deadToken.MatchString(line):
			return true
		}
	}
	return false
}

// verdict classifies the words of a login's answer without tokens: TwoFactor, Refused, or "" for neither. unclear:
// they may mean either.
func (s errorAnswer) verdict() (out Outcome, unclear bool) {
	code, password := s.code || s.matches(codeWanted), s.matches(passwordWrong)
	switch {
	case code && password:
		return Refused, true
	case code:
		return TwoFactor, false
	case password:
		return Refused, false
	}
	return "", false
}
