package index

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Progress is what the sync knows of the service's list and where it stands. It
// is kept in the store and committed with the rows that it speaks of, so that any
// instance can show it and go on, and no end of a process leaves a hole. All
// times are the store's.
type Progress struct {
	Version int `json:"version"`

	// What the answers showed of the list.
	Total    int64  `json:"total"`             // operations, as the service last said; -1: it does not say
	Order    Order  `json:"order,omitempty"`   // judged again with every page
	Offset   int    `json:"offset,omitempty"`  // 1 where page 1 is page 0 again: the service counts from 1
	PageSize int    `json:"page_size"`         // rows of a page of the rolling pass; 0: not known yet
	NewsSize int    `json:"news_size"`         // rows of a page of news
	Start    int    `json:"start,omitempty"`   // the size of the first page, where the usual one is refused
	Probe    int    `json:"probe,omitempty"`   // the larger size that is tried next
	Tried    bool   `json:"tried,omitempty"`   // larger sizes were tried
	Counted  bool   `json:"counted,omitempty"` // the total was seen to be that of the list, not of a page
	Resized  int    `json:"resized,omitempty"` // how often pages changed their size since a pass ended
	Chained  bool   `json:"chained,omitempty"` // each page names the next one: their numbers do not lead on
	Note     string `json:"note,omitempty"`    // what about the list keeps the index from being complete, a sentence
	// Stuck is when the pass began that found Note.
	Stuck time.Time `json:"stuck,omitzero"`

	Pass Pass `json:"pass"`
	Last Done `json:"last"`
	News News `json:"news"`

	NewsAfter time.Time `json:"look,omitzero"`     // somebody waits for news that are read after this
	Hurry     time.Time `json:"hurry,omitzero"`    // somebody waits for a pass that began after this
	Trouble   string    `json:"trouble,omitempty"` // why the sync waits, a sentence

	text string // as it was read
}

// Pass is the rolling pass over all pages that is under way.
type Pass struct {
	Started   time.Time `json:"started,omitzero"` // when its first request was sent; zero: it has not begun
	Page      int       `json:"page"`             // the next one
	Next      string    `json:"next,omitempty"`   // what the last page said of it, in a chained list
	Pages     int       `json:"pages"`            // read
	Read      int64     `json:"read"`             // rows
	At        time.Time `json:"at,omitzero"`      // when its last request was sent
	Total     int64     `json:"total"`            // as its last page said
	Ids       string    `json:"ids,omitempty"`    // digest of its last page's identifiers
	Repeats   int       `json:"repeats,omitempty"`
	Stuck     string    `json:"stuck,omitempty"`     // why pages do not lead on, a sentence
	End       bool      `json:"end,omitempty"`       // the service showed that nothing follows
	NoTotal   bool      `json:"no_total,omitempty"`  // a page had rows beyond the total, which is not that of the list
	Short     bool      `json:"short,omitempty"`     // its last page was not full, and the total says that more follow
	Disturbed bool      `json:"disturbed,omitempty"` // rows left the list while it ran
	Listed    bool      `json:"listed,omitempty"`    // all pages are read; what they did not show is read alone
	Asked     int       `json:"asked,omitempty"`     // single reads so far
	Gone      int       `json:"gone,omitempty"`      // of them: the service did not have it
	Top       int64     `json:"top,omitempty"`       // newest key of its rows
	Seen      Evidence  `json:"evidence"`
}

// Done is the last pass that read every page and asked for everything that no page
// had shown.
type Done struct {
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	Pages    int       `json:"pages"`
	Held     int64     `json:"held"`  // rows in the list then
	Total    int64     `json:"total"` // as the service said then
	Same     int       `json:"same"`  // passes before it that ended with the same two numbers
	Even     int       `json:"even"`  // passes in a row, with it, that ended with two equal numbers
	End      bool      `json:"end"`   // the service showed that nothing followed
}

// News is how far the list's growing end has been read.
type News struct {
	At   time.Time `json:"at,omitzero"` // when the first request of the last complete reading was sent
	Mark int64     `json:"mark"`        // it read down to this key; 0: none yet
	By   Order     `json:"by,omitempty"`

	Began time.Time `json:"began,omitzero"` // of the reading that is under way; zero: none
	Page  int       `json:"page"`           // the next one
	Next  string    `json:"next,omitempty"` // what the last page said of it, in a chained list
	Size  int       `json:"size"`
	Seek  bool      `json:"seek,omitempty"` // the last page is still to be found
	Top   int64     `json:"top,omitempty"`  // newest key so far: the next mark
	Total int64     `json:"total"`          // as its last page said
}

const (
	progressVersion = 2
	progressName    = "sync"
	leaseName       = "sync"
)

// LoadProgress reads the shared progress.
func LoadProgress(ctx context.Context, s Store) (Progress, error) {
	v, err := s.Meta(ctx, progressName)
	if err != nil {
		return Progress{}, err
	}
	p := Progress{text: v}
	if v != "" && (json.Unmarshal([]byte(v), &p) != nil || p.Version != progressVersion) {
		p = Progress{text: v} // written by a program that differs: begin again
	}
	if p.Version == 0 {
		p.Version, p.Total = progressVersion, -1
	}
	return p, nil
}

// swap is the step from the progress as it was read to p.
func (p Progress) swap() (*Swap, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return &Swap{Name: progressName, Old: p.text, New: string(b)}, nil
}

// save writes p unless somebody else went on meanwhile.
func (p Progress) save(ctx context.Context, s Store) error {
	swap, err := p.swap()
	if err == nil {
		_, err = s.Put(ctx, Batch{Swap: swap})
	}
	return err
}

// pages is how many a pass has; at least 1.
func (p Progress) pages(held int64) int {
	rows := max(p.Total, held)
	if p.PageSize <= 0 {
		return 1
	}
	return int(max((rows+int64(p.PageSize)-1)/int64(p.PageSize), 1))
}

// differs reports that the index holds another number of rows than the service
// says, and that another pass may change that.
func (p Progress) differs(held int64) bool {
	return p.off(held) && !(p.Last.Same > 0 && p.Last.Held == held && p.Last.Total == p.Total)
}

func (p Progress) off(held int64) bool { return p.Total >= 0 && p.Total != held }

// Hint says what keeps the index from being complete, a sentence; "" for nothing.
func (p Progress) Hint(held int64) string {
	switch {
	case p.Note != "":
		return p.Note
	case p.off(held) && !p.differs(held):
		return fmt.Sprintf("The service reports a total of %d, but its pages show %d operations.", p.Total, held)
	case p.off(held) && p.proven():
		return fmt.Sprintf("The service has %d operations, the index holds %d. The next pass reads the rest.", p.Total, held)
	case p.Order == OrderNone && p.proven():
		return "The service's list has no order, so new operations are found only by reading all pages."
	}
	return ""
}

// proven reports that the last pass showed the whole list. Where the service tells
// no total, or its list has no order, nothing shows that rows moved onto pages that
// were read already: there it takes two passes in a row that end alike, or evenly.
func (p Progress) proven() bool {
	switch {
	case p.Last.Started.IsZero():
		return false
	case p.Total >= 0 && (p.Order.Sorted() || p.short()):
		return true
	}
	return p.Last.Same > 0 || p.Total >= 0 && p.Last.Even > 1
}

// complete reports that every page was read and that the rows held are shown to be all: they are as many as the
// service says, or it showed the end of its list and says no larger number.
func (p Progress) complete(s Sights) bool {
	all := s.Rows == p.Total || p.Last.End && s.Rows > p.Total
	return p.proven() && p.Note == "" && s.Unseen == 0 && all && p.News.Began.IsZero()
}

// ETA guesses when the first pass will be finished, from its pace so far; ok is
// false when it cannot be told. That includes the first minute, which spends its
// calls at once and then waits for the next.
func (p Progress) ETA(now time.Time) (left time.Duration, ok bool) {
	took := now.Sub(p.Pass.Started)
	if p.Pass.Started.IsZero() || p.Pass.Read == 0 || p.Total <= p.Pass.Read || took < time.Minute {
		return 0, false
	}
	return time.Duration(float64(took) / float64(p.Pass.Read) * float64(p.Total-p.Pass.Read)), true
}
