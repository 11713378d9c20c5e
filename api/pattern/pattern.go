// Package pattern has regular expressions that are compiled when they are first used. Compiling all of them when the
// program begins took a third of what each start and each command cost before its first statement.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression, in the syntax of regexp. It may be used by several goroutines at once.
type Pattern struct {
	source   string
	compiled func() *regexp.Regexp
}

var all []*Pattern

// New makes a pattern; it panics at its first use if source is wrong. Call it for variables of packages only:
// TestPatternsCompile then compiles it.
func New(source string) *Pattern {
	p := &Pattern{source, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })}
	all = append(all, p)
	return p
}

// All returns the patterns of all packages of this program.
func All() []*Pattern { return all }

// String implements fmt.Stringer: the source.
func (p *Pattern) String() string { return p.source }

// MatchString is regexp.Regexp.MatchString.
func (p *Pattern) MatchString(s string) bool { return p.compiled().MatchString(s) }

// FindStringSubmatch is regexp.Regexp.FindStringSubmatch.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }

// FindAllStringSubmatch is regexp.Regexp.FindAllStringSubmatch.
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.compiled().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex is regexp.Regexp.FindAllStringSubmatchIndex.
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.compiled().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString is regexp.Regexp.ReplaceAllString.
func (p *Pattern) ReplaceAllString(s, by string) string { return p.compiled().ReplaceAllString(s, by) }

// ReplaceAllStringFunc is regexp.Regexp.ReplaceAllStringFunc.
func (p *Pattern) ReplaceAllStringFunc(s string, by func(string) string) string {
	return p.compiled().ReplaceAllStringFunc(s, by)
}
