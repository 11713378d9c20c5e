package index

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Progress is the state of the sync and what it knows of the service's list. It is stored in the transaction of its
// rows, so that any instance can show and continue it, and a crash leaves no gap. All times are the store's.
type Progress struct {
	Version int `json:"version"`

	// What the answers showed of the list.
	Total    int64  `json:"total"`             // operations by the service's last answer; -1: not reported
	Had      int64  `json:"had,omitempty"`     // rows in the list when that answer was asked for: it counts them, too
	Order    Order  `json:"order,omitempty"`   // reassessed with every page
	Offset   int    `json:"offset,omitempty"`  // 1 if page 1 equals page 0: the service counts from 1
	PageSize int    `json:"page_size"`         // rows of a page of the rolling pass; 0: not known yet
	NewsSize int    `json:"news_size"`         // rows of a page of news
	Start    int    `json:"start,omitempty"`   // size of the first page if the usual one is refused
	Probe    int    `json:"probe,omitempty"`   // the larger size to try next
	Tried    bool   `json:"tried,omitempty"`   // larger sizes were tried
	Counted  bool   `json:"counted,omitempty"` // the total proved to be the list's, not a page's
	Resized  int    `json:"resized,omitempty"` // changes of the page size since the last pass
	Chained  bool   `json:"chained,omitempty"` // each page names the next one, page numbers do not work
	Note     string `json:"note,omitempty"`    // what keeps the index from being complete, a sentence
	// Stuck is the start of the pass that found Note.
	Stuck time.Time `json:"stuck,omitzero"`

	Pass Pass `json:"pass"`
	Last Done `json:"last"`
	News News `json:"news"`

	NewsAfter time.Time `json:"look,omitzero"`     // a person waits for news read after this
	Hurry     time.Time `json:"hurry,omitzero"`    // a person waits for a pass that began after this
	Trouble   string    `json:"trouble,omitempty"` // why the sync is paused, a sentence

	text string // as it was read
}

// Pass is the current rolling pass over all pages.
type Pass struct {
	Started   time.Time `json:"started,omitzero"` // when its first request was sent; zero: not yet
	Page      int       `json:"page"`             // the next one
	Next      string    `json:"next,omitempty"`   // next page by the last one, in a chained list
	Pages     int       `json:"pages"`            // read
	Read      int64     `json:"read"`             // rows
	At        time.Time `json:"at,omitzero"`      // when its last request was sent
	Total     int64     `json:"total"`            // by its last page
	First     int64     `json:"first,omitempty"`  // the total by its first page
	Ids       string    `json:"ids,omitempty"`    // digest of the identifiers on its last page
	Repeats   int       `json:"repeats,omitempty"`
	Stuck     string    `json:"stuck,omitempty"`     // why it cannot continue, a sentence
	End       bool      `json:"end,omitempty"`       // the service showed the end of the list
	NoTotal   bool      `json:"no_total,omitempty"`  // a page had rows beyond the total, so it is not the list's
	Short     bool      `json:"short,omitempty"`     // its last page was not full, but more should follow by the total
	Emptied   int       `json:"emptied,omitempty"`   // empty pages with a smaller total than the page before
	Disturbed bool      `json:"disturbed,omitempty"` // rows left the list during the pass
	Listed    bool      `json:"listed,omitempty"`    // all pages are read; the remaining rows are read one by one
	Asked     int       `json:"asked,omitempty"`     // single reads so far
	Gone      int       `json:"gone,omitempty"`      // of them: no longer at the service
	Top       int64     `json:"top,omitempty"`       // newest key of its rows
	Seen      Signs     `json:"evidence"`
}

// Done is the last pass that read every page and then every row that no page had shown.
type Done struct {
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	Pages    int       `json:"pages"`
	Held     int64     `json:"held"`  // rows in the list at its end
	Total    int64     `json:"total"` // by the service at its end
	Same     int       `json:"same"`  // earlier passes in a row with the same two numbers
	Even     int       `json:"even"`  // passes in a row, including it, with Held equal to Total
	End      bool      `json:"end"`   // the service showed the end of the list
	// Whole: what it showed was all of the list, as far as the news and the numbers can prove it. Operations that
	// arrive later do not change that.
	Whole bool `json:"whole,omitempty"`
}

// News is how far the list's growing end has been read.
type News struct {
	At   time.Time `json:"at,omitzero"` // when the first request of the last complete read was sent
	Mark int64     `json:"mark"`        // it read down to this key; 0: never
	By   Order     `json:"by,omitempty"`

	Began time.Time `json:"began,omitzero"` // start of the current read; zero: none
	Page  int       `json:"page"`           // the next one
	Next  string    `json:"next,omitempty"` // next page by the last one, in a chained list
	Size  int       `json:"size"`
	Seek  bool      `json:"seek,omitempty"` // the last page is not found yet
	Top   int64     `json:"top,omitempty"`  // newest key so far, the next mark
	Total int64     `json:"total"`          // by its last page
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
		p = Progress{text: v} // in another program's format: start again
	}
	if p.Version == 0 {
		p.Version, p.Total = progressVersion, -1
	}
	return p, nil
}

// swap is the change from the progress that was read to p.
func (p Progress) swap() (*Swap, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return &Swap{Name: progressName, Old: p.text, New: string(b)}, nil
}

// save writes p unless another process has changed it.
func (p Progress) save(ctx context.Context, s Store) error {
	swap, err := p.swap()
	if err == nil {
		_, err = s.Put(ctx, Batch{Swap: swap})
	}
	return err
}

// pages is the number of pages of a pass, at least 1.
func (p Progress) pages(held int64) int {
	rows := max(p.Total, held)
	if p.PageSize <= 0 {
		return 1
	}
	return int(max((rows+int64(p.PageSize)-1)/int64(p.PageSize), 1))
}

// differs reports whether the index holds another number of rows than the service reports, and another pass may
// change that: it has fewer, or had more when the service counted. Later arrivals make no difference.
func (p Progress) differs(held int64) bool {
	return p.off(held) && !(p.Last.Same > 0 && p.beyond(held) == p.Last.Held-p.Last.Total)
}

func (p Progress) off(held int64) bool { return p.Total >= 0 && p.beyond(held) != 0 }

// beyond is how many rows more than the service counted are held, or fewer. Rows that arrived since it counted are
// not among them.
func (p Progress) beyond(held int64) int64 {
	switch {
	case p.Had > p.Total:
		return p.Had - p.Total
	case held < p.Total:
		return held - p.Total
	}
	return 0
}

// proves reports whether the last pass showed the whole list, by the numbers of now.
func (p Progress) proves(held int64) bool {
	counted := p.Total >= 0 && p.beyond(held) == 0
	return p.proven() && (counted || p.Last.End && held > p.Total)
}

// proven reports whether a pass can show the whole list, or enough of them agree.
func (p Progress) proven() bool { return !p.Last.Started.IsZero() && (p.once() || p.twice()) }

// once reports whether one pass can show the whole list. If the service reports no total, or its list is unsorted,
// rows may have moved unnoticed onto pages already read; then it takes two passes in a row.
func (p Progress) once() bool { return p.Total >= 0 && (p.Order.Sorted() || p.short()) }

// twice reports whether two passes in a row were equal, or their numbers matched.
func (p Progress) twice() bool { return p.Last.Same > 0 || p.Total >= 0 && p.Last.Even > 1 }

// ETA estimates the time left of the first pass from its pace; ok is false if it cannot be estimated, as in the first
// minute, which spends its calls at once and then waits.
func (p Progress) ETA(now time.Time) (left time.Duration, ok bool) {
	took := now.Sub(p.Pass.Started)
	if p.Pass.Started.IsZero() || p.Pass.Read == 0 || p.Total <= p.Pass.Read || took < time.Minute {
		return 0, false
	}
	return time.Duration(float64(took) / float64(p.Pass.Read) * float64(p.Total-p.Pass.Read)), true
}
