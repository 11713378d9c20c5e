// Package verdict concludes from facts what is wrong, since when, what to do and who can do it. It is pure: it reads no
// clock, store or network. Every surface prints its result and concludes nothing by itself.
package verdict
