// SPDX-License-Identifier: Apache-2.0
//
// What any static program costs: start, nothing, end. Also the container's program in the benchmark.

int main(void)
{
	return 0;
}
