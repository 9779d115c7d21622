/* place.c - a program of which there are several: of one name and at one address, but with other code. */
#include <unistd.h>

static unsigned int work(unsigned int rounds)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < rounds; i++) {
		__asm__ volatile(".rept %c0\n\tnop\n\t.endr" : : "i"(PLACE));
		sum = sum * PLACE + i;
	}
	return sum;
}

int main(void)
{
	static const char text[] = {'0' + PLACE, '\n'};
	const volatile unsigned int sum = work(100 * PLACE);

	return write(STDOUT_FILENO, text, sizeof(text)) == sizeof(text) && sum ? 0 : 1;
}
