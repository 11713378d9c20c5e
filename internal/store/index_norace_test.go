//go:build !race

package store_test

const slowRun = false
